internal import CommandSupport
internal import NegotiateProxy
internal import SystemSupport

// The process that evaluates a PAC file gives up its rights while it has only one thread, and needs no part of the command.
if Array(CommandLine.arguments.dropFirst()) == PACWorker.arguments { PACWorker.run() }
StandardDescriptors.reserve()
// Before the first await, with which the first thread starts.
KSSOCommand.prepareProcess()
let patience = Patience.factor(of: EnvironmentVariable.value(of: Patience.variable))
await Patience.$factor.withValue(patience) { () async -> Void in await KSSOCommand.run() }
