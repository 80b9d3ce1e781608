// Before the first await, with which the first thread starts.
KSSOCommand.prepareProcess()
await KSSOCommand.run()
