import Foundation
import KCM
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import SignOnPolicy
import TestSupport

@testable import SSOAgent

/// An agent's API in a real realm, with its own engine and socket.
struct RunningAgent: Sendable {
    let realm: TestRealm
    let kerberos: KerberosExtension
    let events = EventHub()
    let current: CurrentExtension
    let api: AgentAPI
    let server: AgentAPIServer
    let socketPath: String
    /// The default cache of its engine.
    let cacheName: String
    private let calls = Calls()
    /// The number of requests to stop the agent.
    var stops: Counter { calls.stops }
    /// The number of reported changes of the sessions.
    var changes: Counter { calls.changes }
    /// The number of reported tokens.
    var uses: Counter { calls.uses }

    /// What the API called on the agent.
    private struct Calls: Sendable {
        let stops = Counter()
        let changes = Counter()
        let uses = Counter()
    }

    private struct Delegate: AgentAPIDelegate {
        let calls: Calls
        let kerberos: KerberosExtension
        let signsIn: @Sendable (KerberosExtension) async -> Bool
        let isScreenLocked: Bool

        func processStatus() async -> StatusDocument.Process {
            StatusDocument.Process(processID: getpid(), started: Date(timeIntervalSince1970: 0))
        }
        func stop() { calls.stops.next() }
        func sessionsChanged() { calls.changes.next() }
        func hasSignedIn(realm: String, principal: String?) async -> Bool {
            realm == "EXAMPLE.TEST" ? await signsIn(kerberos) : false
        }
        func noteUse(of principal: String) { calls.uses.next() }
        func acceptsConnections(failure reason: String?) {}
    }

    /// Runs the body with an agent, in which `alice` is signed in unless `signedIn` is false, and shuts the agent down.
    ///
    /// - Parameter trace: Receives libkrb5's trace of the agent's engine.
    static func run<Return>(
        in realm: TestRealm,
        signedIn: Bool = true,
        change: (inout ExtensionConfiguration) throws -> Void = { _ in },
        access: AccessPolicy? = nil,
        trace: (@Sendable (String) -> Void)? = nil,
        signsIn: @escaping @Sendable (KerberosExtension) async -> Bool = { _ in false },
        isScreenLocked: Bool = false,
        _ body: (RunningAgent) async throws -> Return
    ) async throws -> Return {
        let directory = "\(realm.directory)/agent-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let rules = [try HostRule(".example.test"), try HostRule("localhost")]
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: rules, plainHTTPHosts: rules, source: "agent.yaml")
        try change(&configuration)
        let kerberos = KerberosExtension(
            KerberosExtension.Options(
                configurations: [configuration],
                base: .files([realm.configurationPath]),
                defaultCacheName: "FILE:\(directory)/cache",
                additionalCacheDirectory: "\(directory)/caches",
                trace: trace
            )
        )
        if signedIn { try await kerberos.signIn("alice", using: .password(Secret("secret"))) }
        let agent = RunningAgent(
            realm: realm,
            kerberos: kerberos,
            directory: directory,
            access: access,
            signsIn: signsIn,
            isScreenLocked: isScreenLocked
        )
        let socket = try ListeningSocket.bind(path: agent.socketPath)
        try await agent.server.serve(socket)
        let result: Result<Return, any Error>
        do {
            result = .success(try await body(agent))
        } catch {
            result = .failure(error)
        }
        await agent.server.shutDown(grace: .seconds(1))
        try? FileManager.default.removeItem(atPath: directory)
        return try result.get()
    }

    private init(
        realm: TestRealm,
        kerberos: KerberosExtension,
        directory: String,
        access: AccessPolicy?,
        signsIn: @escaping @Sendable (KerberosExtension) async -> Bool,
        isScreenLocked: Bool
    ) {
        self.realm = realm
        self.kerberos = kerberos
        socketPath = "\(directory)/agent.sock"
        cacheName = "FILE:\(directory)/cache"
        current = CurrentExtension(kerberos, access: access ?? AccessPolicy(owner: geteuid()))
        let delegate = Delegate(calls: calls, kerberos: kerberos, signsIn: signsIn, isScreenLocked: isScreenLocked)
        api = AgentAPI(current, delegate: delegate, events: events)
        server = AgentAPIServer(api)
    }

    /// A client that has fetched the agent's configurations.
    func client() async throws -> AgentClient { try await AgentClient.connect(socketPath: socketPath) }

    /// Sends a request with curl, which prints the status on the last line.
    func curl(_ arguments: [String], input: String? = nil) async throws -> (status: Int, body: String) {
        let result = try await realm.run(
            "curl",
            ["--silent", "--show-error", "--max-time", "120", "--unix-socket", socketPath, "--write-out", "\n%{http_code}"] + arguments,
            environment: [:],
            input: input
        )
        var lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        let status = lines.popLast().flatMap { Int($0) } ?? 0
        return (status, lines.joined(separator: "\n"))
    }
}
