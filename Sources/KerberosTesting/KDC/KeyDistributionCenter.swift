import Foundation
import Kerberos
import Synchronization

/// The krb5kdc processes of one realm, which share its database, and their ports. Numbers count from 0, in krb5.conf's order.
final class KeyDistributionCenter: Sendable {
    private struct State {
        /// Nil for a KDC that does not run.
        var processes: [Int?]
        /// The end of the last change; changes come one after the other.
        var change: Task<Void, Never>?
        var peers: [RealmFiles.Peer] = []
        var passwordPort: Int?
    }

    let configuration: RealmFiles
    private let environment: [String: String]
    private let watcher: DaemonWatcher
    /// One for each KDC, its own until the realm ends, also while it does not run.
    private let reserved: [ReservedPort]
    /// The ways of the clients, one for each KDC; empty where they are straight.
    let networks: [KDCNetwork]
    private let state: Mutex<State>

    init(configuration: RealmFiles, environment: [String: String], watcher: DaemonWatcher, networks: [KDCNetwork] = []) throws {
        self.configuration = configuration
        self.networks = networks
        self.environment = environment
        self.watcher = watcher
        let options = configuration.options
        let address = try ListeningAddress(options.address)
        reserved = try (0..<options.kdcCount).map { _ in try ReservedPort(at: address) }
        for (network, port) in zip(networks, reserved) { network.target.withLock { $0 = port.number } }
        state = Mutex(State(processes: Array(repeating: nil, count: options.kdcCount)))
    }

    /// The port of each KDC, by UDP and by TCP.
    var ports: [Int] { reserved.map(\.number) }

    /// Where clients find the KDCs.
    var clientPorts: [Int] { networks.isEmpty ? ports : networks.map(\.port) }

    /// Starts one KDC, or all that do not run, and returns when they have answered a request.
    ///
    /// - Parameter preparation: What has to be done before the first request, and can be done while the processes start.
    func start(
        _ number: Int? = nil,
        clockOffset: Duration?,
        alongside preparation: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        try await inTurn { try await self.launchAll(number, clockOffset: clockOffset, alongside: preparation) }
    }

    /// Ends one process or all, by TERM or another signal.
    func stop(_ number: Int? = nil, signal: String = "TERM") async throws {
        try await inTurn { for number in try self.numbers(number) { try await self.end(number, signal: signal) } }
    }

    /// Starts one process or all anew.
    func restart(_ number: Int? = nil, clockOffset: Duration?) async throws {
        try await inTurn {
            for number in try self.numbers(number) { try await self.end(number) }
            try await self.launchAll(number, clockOffset: clockOffset)
        }
    }

    /// Makes a change after those that began earlier: who finds a KDC stopped has nobody else start it.
    private func inTurn(_ change: @escaping @Sendable () async throws -> Void) async throws {
        let task = state.withLock { state in
            let task = Task { [earlier = state.change] in
                await earlier?.value
                try await change()
            }
            state.change = Task { _ = await task.result }
            return task
        }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func launchAll(
        _ number: Int?,
        clockOffset: Duration?,
        alongside preparation: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        let stopped = try numbers(number).filter { process($0) == nil }
        guard !stopped.isEmpty else {
            throw KerberosTestingError(.serverNotReady, "The KDC of \(configuration.options.name) is running already; stop it first.")
        }
        async let prepared: Void = preparation()
        for number in stopped { try await launch(number, clockOffset: clockOffset) }
        try await prepared
        for number in stopped { try await exchange(with: number) }
    }

    /// Stops processes where they are; the kernel still takes connections and packets for them.
    func pause(_ number: Int? = nil) async throws {
        try await inTurn { try await self.send("STOP", to: number) }
    }

    /// Lets stopped processes run on.
    func resume(_ number: Int? = nil) async throws {
        try await inTurn { try await self.send("CONT", to: number) }
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

    private func process(_ number: Int) -> Int? { state.withLock { $0.processes[number] } }

    private func numbers(_ number: Int?) throws -> [Int] {
        let count = configuration.options.kdcCount
        guard let number else { return Array(0..<count) }
        guard (0..<count).contains(number) else {
            let message = "\(configuration.options.name) has no KDC \(number): they count from 0, and there are \(count)."
            throw KerberosTestingError(.invalidArgument, message)
        }
        return [number]
    }

    private func end(_ number: Int, signal: String = "TERM") async throws {
        try await watcher.stop(number: number, signal: signal)
        state.withLock { $0.processes[number] = nil }
    }

    private func send(_ signal: String, to number: Int?) async throws {
        for number in try numbers(number) {
            try await watcher.send(signal: signal, number: number)
            if let process = process(number) { try await ListeningPorts.waitUntil(process, isStopped: signal == "STOP") }
        }
    }

    private func launch(_ number: Int, clockOffset: Duration?) async throws {
        try configuration.kdc(number, port: ports[number]).writeFile(configuration.kdcPath(number))
        var command = [try Program.path(of: "krb5kdc"), "-r", configuration.options.name, "-n"]
        // The first one's is in the environment already.
        if number > 0 { command = [try Program.path(of: "env"), "KRB5_KDC_PROFILE=\(configuration.kdcPath(number))"] + command }
        if let clockOffset { command += ["-T", "\(clockOffset.components.seconds)"] }
        reserved[number].setSharesDatagrams(true)
        defer { reserved[number].setSharesDatagrams(false) }
        let process = try await watcher.start(command, number: number)
        do {
            _ = try await ListeningPorts.wait(for: process, needsUDP: true) { complaints(number) }
        } catch {
            try await end(number)
            throw error
        }
        state.withLock { $0.processes[number] = process }
    }

    /// What a KDC wrote, and the last lines of its log.
    private func complaints(_ number: Int) -> String {
        let files = ["\(configuration.directory)/\(DaemonWatcher.logName(number))", configuration.logPath(number)]
        let texts = files.compactMap { try? String.contents(ofFile: $0) }
        return texts.map { $0.split(separator: "\n").suffix(5).joined(separator: "\n") }.joined(separator: "\n")
    }

    /// Writes krb5.conf: the KDCs' ports, and what else is known by now.
    func writeClientConfiguration() throws {
        let (passwordPort, peers) = state.withLock { ($0.passwordPort, $0.peers) }
        try configuration.client(ports: clientPorts, passwordPort: passwordPort, peers: peers).writeFile(configuration.clientPath)
    }

    /// A real AS exchange, which needs no user and leaves no ticket behind: for the ticket-granting service in its own name.
    private func exchange(with number: Int) async throws {
        let realm = configuration.options.name
        let client = KerberosClient(RealmConfiguration(realm: realm, base: .files([configuration.clientPath])))
        let service = try Principal("krbtgt/\(realm)@\(realm)")
        switch try await client.probe(for: service).ask(
            configuration.options.address,
            port: UInt16(ports[number]),
            by: .tcp,
            within: .seconds(60)
        ) {
        case .answered(let answer):
            if let refusal = answer.refusal {
                throw KerberosTestingError(.serverNotReady, "The KDC of \(realm) started and gives no tickets.", cause: refusal)
            }
        case .refused, .noAnswer, .unreachable, .notKerberos:
            let log = (try? String.contents(ofFile: configuration.logPath(nil))) ?? ""
            throw KerberosTestingError(.serverNotReady, "The KDC of \(realm) started and does not answer: \(log)")
        }
    }
}

extension TestRealm {
    /// Ends a KDC; its port refuses connections and datagrams until ``startKDC(_:clockOffset:)``. Does nothing if it is not running.
    ///
    /// - Parameter number: Which KDC, from 0 in krb5.conf's order; nil is all of them, here and below.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if there is no such KDC.
    public func stopKDC(_ number: Int? = nil) async throws {
        try await center.stop(number)
    }

    /// Ends a KDC by SIGKILL, in the midst of whatever it does.
    ///
    /// - Throws: As ``stopKDC(_:)``.
    public func killKDC(_ number: Int? = nil) async throws {
        try await center.stop(number, signal: "KILL")
    }

    /// Starts a KDC again and returns when it answers; of several those that do not run.
    ///
    /// Its port is the same: no other program is given it meanwhile.
    /// - Parameters:
    ///   - number: Which KDC; nil is all of them.
    ///   - clockOffset: How far the KDC's clock is from the machine's, in whole seconds; none if nil.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it runs already or does not start, `invalidArgument` if there
    ///   is no such KDC.
    public func startKDC(_ number: Int? = nil, clockOffset: Duration? = nil) async throws {
        try await center.start(number, clockOffset: clockOffset)
    }

    /// Sets a KDC's clock, by a restart: how far it is from the machine's, in whole seconds; negative means that the KDC is behind.
    ///
    /// - Throws: As ``startKDC(_:clockOffset:)``.
    public func setKDCClock(offset: Duration, of number: Int? = nil) async throws {
        try await center.restart(number, clockOffset: offset)
    }

    /// Makes a KDC swallow packets: the kernel still accepts connections, but nobody answers.
    ///
    /// A client of libkrb5 gives up after 27 seconds. Call ``resumeKDC(_:)`` to go on; the end of the realm needs no resuming.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it is not running, `invalidArgument` if there is no such KDC.
    public func pauseKDC(_ number: Int? = nil) async throws {
        try await center.pause(number)
    }

    /// Ends the pause that ``pauseKDC(_:)`` began; requests that waited are answered now.
    ///
    /// - Throws: As ``pauseKDC(_:)``.
    public func resumeKDC(_ number: Int? = nil) async throws {
        try await center.resume(number)
    }

    /// The networks between the clients and each KDC, in krb5.conf's order; empty without ``TestRealmOptions/faultProxy``.
    public var networks: [KDCNetwork] { ownCenter?.networks ?? [] }

    /// The network between the clients and the first KDC, of a realm made with ``TestRealmOptions/faultProxy``.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for a realm that has none, `notAdministered` for somebody else's.
    public var network: KDCNetwork {
        get throws {
            if let network = try center.networks.first { return network }
            throw KerberosTestingError(.invalidArgument, "The clients of \(name) reach the KDC directly; make it with faultProxy: true.")
        }
    }

    /// The KDC's log so far: one line with `AS_REQ` or `TGS_REQ` for each request that it decided.
    ///
    /// Every start of a KDC leaves an `AS_REQ` for `krbtgt` of the realm itself, by which the kit knows that it answers.
    /// - Parameter number: Of several, whose log; nil is one log of them all.
    /// - Throws: ``KerberosTestingError`` with the code `notAdministered` for a realm that somebody else runs.
    public func log(ofKDC number: Int? = nil) throws -> String {
        try String.contents(ofFile: center.configuration.logPath(number))
    }
}
