import CommandSupport

StandardDescriptors.reserve()
// Before the first await, with which the first thread starts.
DispatchLog.silence()
await RealmCommand.runProgram()
