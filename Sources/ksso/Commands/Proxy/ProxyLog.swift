internal import CommandSupport
internal import Logging

/// Prints the proxy's messages to standard error: failures always, everything else with --verbose.
struct ProxyLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { Console.report(event.message.description) }

    static func logger(isVerbose: Bool) -> Logger {
        Logger(label: "ksso.proxy") { _ in ProxyLog(logLevel: isVerbose ? .debug : .info) }
    }
}
