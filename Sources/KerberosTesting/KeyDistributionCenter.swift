import Foundation
import Synchronization

/// The krb5kdc process of one realm and its two ports.
final class KeyDistributionCenter: Sendable {
    private struct State {
        var ports = ListeningPorts()
        var process: Int?
        var peers: [RealmFiles.Peer] = []
        var passwordPort: Int?
    }

    let configuration: RealmFiles
    private let environment: [String: String]
    private let watcher: DaemonWatcher
    private let state = Mutex(State())

    init(configuration: RealmFiles, environment: [String: String], watcher: DaemonWatcher) {
        self.configuration = configuration
        self.environment = environment
        self.watcher = watcher
    }

    /// The ports of the last start.
    var ports: ListeningPorts { state.withLock { $0.ports } }

    /// Starts the process, on the ports of the last start where they are still free, and returns when it has answered a request.
    func start(clockOffset: Duration?) async throws {
        let (previous, isRunning) = state.withLock { ($0.ports, $0.process != nil) }
        guard !isRunning else {
            throw KerberosTestingError(.serverNotReady, "The KDC of \(configuration.options.name) is running already; stop it first.")
        }
        do {
            try await launch(ports: previous, clockOffset: clockOffset)
        } catch let error as KerberosTestingError where error.code == .serverNotReady && previous != ListeningPorts() {
            try await stop()
            try await launch(ports: ListeningPorts(), clockOffset: clockOffset)
        }
        try writeClientConfiguration()
        try await exchange()
    }

    /// Ends the process.
    func stop() async throws {
        try await watcher.stop()
        state.withLock { $0.process = nil }
    }

    /// Stops the process where it is; the kernel still takes connections and packets for it.
    func pause() async throws {
        try await watcher.send(signal: "STOP")
        if let process = state.withLock({ $0.process }) { try await ListeningPorts.waitUntil(process, isStopped: true) }
    }

    /// Lets a stopped process run on.
    func resume() async throws {
        try await watcher.send(signal: "CONT")
        if let process = state.withLock({ $0.process }) { try await ListeningPorts.waitUntil(process, isStopped: false) }
    }

    /// Makes other realms known to the clients of this one.
    func setPeers(_ peers: [RealmFiles.Peer]) throws {
        state.withLock { $0.peers = peers }
        try writeClientConfiguration()
    }

    /// Starts kadmind beside, which nobody but the users themselves may ask for anything, and returns when it listens.
    func startAdministration(_ watcher: DaemonWatcher, log: String) async throws {
        try "".writeFile(configuration.accessListPath)
        let process = try await watcher.start([try Program.path(of: "kadmind"), "-r", configuration.options.name, "-nofork"])
        let open = try await ListeningPorts.wait(for: process, needsUDP: true) { (try? String.contents(ofFile: log)) ?? "" }
        state.withLock { $0.passwordPort = open.udp }
        try writeClientConfiguration()
    }

    private func launch(ports: ListeningPorts, clockOffset: Duration?) async throws {
        try configuration.kdc(ports: ports).writeFile(configuration.kdcPath)
        var command = [try Program.path(of: "krb5kdc"), "-r", configuration.options.name, "-n"]
        if let clockOffset { command += ["-T", "\(clockOffset.components.seconds)"] }
        let process = try await watcher.start(command)
        let directory = configuration.directory
        let open = try await ListeningPorts.wait(for: process, needsUDP: true) {
            (try? String.contents(ofFile: "\(directory)/daemon.log")) ?? ""
        }
        state.withLock {
            $0.process = process
            $0.ports = open
        }
    }

    private func writeClientConfiguration() throws {
        let (port, passwordPort, peers) = state.withLock { ($0.ports.tcp, $0.passwordPort, $0.peers) }
        try configuration.client(port: port, passwordPort: passwordPort, peers: peers).writeFile(configuration.clientPath)
    }

    /// A real AS exchange, which leaves no ticket behind and needs no user: kinit takes the key from the database itself.
    private func exchange() async throws {
        let realm = configuration.options.name
        _ = try await Command.require(
            "kinit",
            ["-k", "-t", "KDB:", "-c", "MEMORY:", "krbtgt/\(realm)@\(realm)"],
            environment: environment,
            scratch: configuration.directory
        )
    }
}
