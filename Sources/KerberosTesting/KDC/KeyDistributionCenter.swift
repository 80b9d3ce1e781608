import Foundation
import Kerberos
import Synchronization

/// The krb5kdc processes of one realm, which share its database, and their ports. They are numbered from 0 in krb5.conf's order.
final class KeyDistributionCenter: Sendable {
    private struct State {
        /// The process of each KDC; nil if it is not running.
        var processes: [Int?]
        /// The end of the last change. Changes run one after another.
        var change: Task<Void, Never>?
        var peers: [RealmFiles.Peer] = []
        var passwordPort: Int?
    }

    let configuration: RealmFiles
    private let environment: [String: String]
    private let watcher: DaemonWatcher
    /// The port of each KDC, which stays reserved until the realm ends, even while the KDC is not running.
    private let reserved: [ReservedPort]
    /// The network in front of each KDC; empty if the clients connect directly.
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

    /// The UDP and TCP port of each KDC.
    var ports: [Int] { reserved.map(\.number) }

    /// The ports at which clients reach the KDCs.
    var clientPorts: [Int] { networks.isEmpty ? ports : networks.map(\.port) }

    /// Starts one KDC, or all that are not running, and returns when they have answered a request.
    ///
    /// - Parameter preparation: Work that must be done before the first request, and runs while the processes start.
    func start(
        _ number: Int? = nil,
        clockOffset: Duration?,
        alongside preparation: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        try await inTurn { try await self.launchAll(number, clockOffset: clockOffset, alongside: preparation) }
    }

    /// Stops one process or all, with TERM or another signal.
    func stop(_ number: Int? = nil, signal: String = "TERM") async throws {
        try await inTurn { for number in try self.numbers(number) { try await self.end(number, signal: signal) } }
    }

    /// Restarts one process or all.
    func restart(_ number: Int? = nil, clockOffset: Duration?) async throws {
        try await inTurn {
            for number in try self.numbers(number) { try await self.end(number) }
            try await self.launchAll(number, clockOffset: clockOffset)
        }
    }

    /// Runs a change after all earlier ones, so that the state it has checked does not change while it runs.
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
            throw KerberosTestingError(.serverNotReady, "The KDC of \(configuration.options.name) is already running; stop it first.")
        }
        async let prepared: Void = preparation()
        for number in stopped { try await launch(number, clockOffset: clockOffset) }
        try await prepared
        for number in stopped { try await exchange(with: number) }
    }

    /// Suspends processes; the kernel still accepts connections and packets for them.
    func pause(_ number: Int? = nil) async throws {
        try await inTurn { try await self.send("STOP", to: number) }
    }

    /// Resumes suspended processes.
    func resume(_ number: Int? = nil) async throws {
        try await inTurn { try await self.send("CONT", to: number) }
    }

    /// Adds other realms to the krb5.conf of this realm's clients.
    func setPeers(_ peers: [RealmFiles.Peer]) throws {
        state.withLock { $0.peers = peers }
        try writeClientConfiguration()
    }

    /// Starts kadmind, which accepts requests only from the users themselves, and returns when it listens.
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
        // The environment already contains the path for KDC 0.
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

    /// Returns a KDC's output and the last lines of its log.
    private func complaints(_ number: Int) -> String {
        let files = ["\(configuration.directory)/\(DaemonWatcher.logName(number))", configuration.logPath(number)]
        let texts = files.compactMap { try? String.contents(ofFile: $0) }
        return texts.map { $0.split(separator: "\n").suffix(5).joined(separator: "\n") }.joined(separator: "\n")
    }

    /// Writes krb5.conf with the KDCs' ports, the kadmind port and the other realms known so far.
    func writeClientConfiguration() throws {
        let (passwordPort, peers) = state.withLock { ($0.passwordPort, $0.peers) }
        try configuration.client(ports: clientPorts, passwordPort: passwordPort, peers: peers).writeFile(configuration.clientPath)
    }

    /// Performs an AS exchange, in which the ticket-granting service is client and server, so that it needs no user and stores no ticket.
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
                throw KerberosTestingError(.serverNotReady, "The KDC of \(realm) started but issues no tickets.", cause: refusal)
            }
        case .refused, .noAnswer, .unreachable, .notKerberos:
            let log = (try? String.contents(ofFile: configuration.logPath(nil))) ?? ""
            throw KerberosTestingError(.serverNotReady, "The KDC of \(realm) started but does not answer: \(log)")
        }
    }
}

extension TestRealm {
    /// Stops a KDC. Its port refuses connections and datagrams until ``startKDC(_:clockOffset:)``. Has no effect if it is not running.
    ///
    /// - Parameter number: The KDC, from 0 in krb5.conf's order; nil for all of them, here and below.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if there is no such KDC.
    public func stopKDC(_ number: Int? = nil) async throws {
        try await center.stop(number)
    }

    /// Kills a KDC with SIGKILL, whatever it is doing.
    ///
    /// - Throws: The errors of ``stopKDC(_:)``.
    public func killKDC(_ number: Int? = nil) async throws {
        try await center.stop(number, signal: "KILL")
    }

    /// Starts a KDC again and returns when it answers; with nil, starts all that are not running.
    ///
    /// Its port is unchanged, because it stays reserved meanwhile.
    /// - Parameters:
    ///   - number: The KDC; nil for all of them.
    ///   - clockOffset: The offset of the KDC's clock from the machine's, in whole seconds; nil for none.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it is already running or does not start, or `invalidArgument`
    ///   if there is no such KDC.
    public func startKDC(_ number: Int? = nil, clockOffset: Duration? = nil) async throws {
        try await center.start(number, clockOffset: clockOffset)
    }

    /// Sets a KDC's clock by restarting it. The offset from the machine's clock is in whole seconds; a negative one sets the KDC's clock
    /// back.
    ///
    /// - Throws: The errors of ``startKDC(_:clockOffset:)``.
    public func setKDCClock(offset: Duration, of number: Int? = nil) async throws {
        try await center.restart(number, clockOffset: offset)
    }

    /// Suspends a KDC, so that the kernel still accepts connections and packets, but they get no answer.
    ///
    /// A libkrb5 client gives up after 27 seconds. Call ``resumeKDC(_:)`` to continue; the realm can end while its KDC is suspended.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` if it is not running, or `invalidArgument` if there is no such
    ///   KDC.
    public func pauseKDC(_ number: Int? = nil) async throws {
        try await center.pause(number)
    }

    /// Resumes a KDC after ``pauseKDC(_:)``; it then answers the waiting requests.
    ///
    /// - Throws: The errors of ``pauseKDC(_:)``.
    public func resumeKDC(_ number: Int? = nil) async throws {
        try await center.resume(number)
    }

    /// The networks in front of the KDCs, in krb5.conf's order; empty without ``TestRealmOptions/faultProxy``.
    public var networks: [KDCNetwork] { ownCenter?.networks ?? [] }

    /// The network in front of the first KDC of a realm with ``TestRealmOptions/faultProxy``.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if the realm has none, or `notAdministered` if the kit does not
    ///   run the realm.
    public var network: KDCNetwork {
        get throws {
            if let network = try center.networks.first { return network }
            throw KerberosTestingError(.invalidArgument, "The clients of \(name) reach the KDC directly; create it with faultProxy: true.")
        }
    }

    /// Returns the KDC's log so far. It has one line with `AS_REQ` or `TGS_REQ` for each request that the KDC has decided.
    ///
    /// Every start of a KDC adds an `AS_REQ` for the realm's own `krbtgt`, with which the kit checks that it answers.
    /// - Parameter number: The KDC whose log to return; nil for the common log of all.
    /// - Throws: ``KerberosTestingError`` with the code `notAdministered` if the kit does not run the realm.
    public func log(ofKDC number: Int? = nil) throws -> String {
        try String.contents(ofFile: center.configuration.logPath(number))
    }
}
