import CommandSupport

StandardDescriptors.reserve()
// Before the first await, with which the first thread starts.
DispatchLog.silence()
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first?.hasPrefix("--generate-completion-script") == true { RealmCommand.refuseCompletionScript() }
await RealmCommand.runProgram(arguments)
