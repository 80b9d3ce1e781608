import KSSOCommands

await KSSOCommand.run()
