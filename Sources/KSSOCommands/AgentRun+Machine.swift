internal import Foundation
internal import SSOAgent

extension AgentRun {
    /// Serves the credential caches of every user of the machine.
    func serveMachine() async throws {
        let environment = ProcessInfo.processInfo.environment
        var options = MachineCache.Options(
            directory: try tickets ?? Self.machineDirectory(environment),
            environment: environment,
            log: { Console.report($0) }
        )
        if let socket { options.socket = socket }
        if let maxCaches { options.maximumCaches = maxCaches }
        if let keepExpired { options.expiredCachePeriod = keepExpired.duration }
        let cache = MachineCache(options)
        try await SignalWait.untilSignal { signals in
            try await cache.run(until: { _ = await signals.next() })
        }
    }

    /// A folder of the one that systemd has made, which may be a link to where it is; else of `/run/ksso`.
    private static func machineDirectory(_ environment: [String: String]) throws -> String {
        let parent = environment["RUNTIME_DIRECTORY"].flatMap { $0.hasPrefix("/") && !$0.contains(":") ? $0 : nil } ?? "/run/ksso"
        guard mkdir(parent, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure(
                .failed,
                "\(parent): the folder can't be made: \(String(cString: strerror(errno))). Name one with --tickets."
            )
        }
        return "\(parent)/caches"
    }
}
