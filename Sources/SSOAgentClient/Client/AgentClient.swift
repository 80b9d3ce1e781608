public import Foundation
public import HTTPNegotiate
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The extension behind the agent's socket: one sign-in for every process of the user, and no libkrb5 in this one.
///
/// ```swift
/// let agent = try await AgentClient.connect()
/// let http = NegotiatingHTTPClient(extension: agent)
/// ```
///
/// Safe to use from any number of tasks. A connection that the agent has closed is opened anew; cancelling a task cancels its request.
///
/// When the agent reads other profiles, its next answer to this client says so and the client loads them. A host that is ignored is never
/// asked about: so there the client looks again by itself, at most every five seconds, beside the verdict that it gives. A host that a
/// profile begins to name is therefore answered from the second request on.
public final class AgentClient: CredentialExtension {
    /// What is known of the agent's configurations.
    private enum Knowledge {
        case nothing
        /// No agent runs: the fallback decides.
        case fallback
        case policy(DecisionPolicy, version: String)
    }

    /// Where the agent listens.
    public let socketPath: String
    let pool: AgentConnectionPool
    private let fallback: (any CredentialExtension)?
    private let knowledge = Mutex(Knowledge.nothing)
    private let recheckInterval: Duration
    /// When the agent was asked last because of a host that is ignored.
    private let rechecks = Mutex(Rechecks())

    /// When the configurations were looked at because of an ignored host, and how long the next look waits: ever longer while they stay the
    /// same, so that a program which only talks to other hosts neither keeps an idle agent nor has systemd start it again and again.
    private struct Rechecks {
        var last: ContinuousClock.Instant?
        var doublings = 0
        var isUnderWay = false
        static let mostDoublings = 8
    }

    /// A client that has asked nothing yet. Until it has, ``decision(for:)`` knows no rule: see
    /// ``connect(socketPath:agentUser:fallback:)``.
    ///
    /// - Parameters:
    ///   - socketPath: Where the agent listens; nil: `agent.sock` in `$KSSO_RUNTIME_DIR`, or where that is by default.
    ///   - agentUser: The number of the user whose agent it is, where it is not this process's own; a socket of anybody else, but root, is
    ///     refused.
    ///   - fallback: What serves while no agent runs; nil: the error `agentNotRunning`.
    public convenience init(socketPath: String? = nil, agentUser: UInt32? = nil, fallback: (any CredentialExtension)? = nil) {
        self.init(socketPath: socketPath, agentUser: agentUser, fallback: fallback, recheckInterval: .seconds(5))
    }

    /// - Parameter recheckInterval: How long an ignored host is ignored without another look at the configurations.
    package init(socketPath: String?, agentUser: UInt32? = nil, fallback: (any CredentialExtension)?, recheckInterval: Duration) {
        self.recheckInterval = recheckInterval
        self.socketPath = socketPath ?? RuntimeDirectory(environment: ProcessInfo.processInfo.environment).apiSocket
        pool = AgentConnectionPool(path: self.socketPath, owner: AgentConnection.Owner(user: agentUser))
        self.fallback = fallback
    }

    /// A client that knows the agent's configurations, so that it decides without asking.
    ///
    /// - Throws: `AuthorizationError`; `agentNotRunning` where no agent listens and there is no fallback.
    public static func connect(
        socketPath: String? = nil,
        agentUser: UInt32? = nil,
        fallback: (any CredentialExtension)? = nil
    ) async throws(AuthorizationError) -> AgentClient {
        let client = AgentClient(socketPath: socketPath, agentUser: agentUser, fallback: fallback)
        do throws(AuthorizationError) {
            try await client.loadConfiguration()
        } catch {
            guard error.code == .agentNotRunning, fallback != nil else { throw error }
            client.knowledge.withLock { $0 = .fallback }
        }
        return client
    }

    /// The agent's verdict for a URL, without asking it; the fallback's while no agent runs.
    ///
    /// A verdict that ignores a host has the configurations looked at beside, in case they have changed: at most every five seconds, and
    /// ever more rarely, up to twenty minutes, while they stay the same.
    public func decision(for url: URL) -> AuthorizationDecision {
        let decision = knownDecision(for: url)
        if case .ignore = decision { recheck() }
        return decision
    }

    private func knownDecision(for url: URL) -> AuthorizationDecision {
        switch knowledge.withLock({ $0 }) {
        case .policy(let policy, _): return policy.decision(for: url)
        case .fallback where fallback != nil: return fallback?.decision(for: url) ?? .ignore([])
        case .nothing, .fallback:
            let detail = "The agent's configurations are not known yet: use AgentClient.connect, or await loadConfiguration()."
            return .ignore([DecisionReason(rule: "hostRule", verdict: .failed, detail: detail)])
        }
    }

    /// Looks beside whether the configurations are still those that ignore the host.
    private func recheck() {
        let isDue = rechecks.withLock { [recheckInterval] rechecks in
            let now = ContinuousClock.now
            if rechecks.isUnderWay { return false }
            if let last = rechecks.last, now - last < recheckInterval * (1 << rechecks.doublings) { return false }
            (rechecks.last, rechecks.isUnderWay) = (now, true)
            return true
        }
        guard isDue else { return }
        Task {
            let before = version
            // Where no agent runs all stays as it is.
            try? await loadConfiguration()
            let isSame = before == version
            rechecks.withLock { rechecks in
                rechecks.isUnderWay = false
                rechecks.doublings = isSame ? min(rechecks.doublings + 1, Rechecks.mostDoublings) : 0
            }
        }
    }

    private var version: String? {
        knowledge.withLock { if case .policy(_, let version) = $0 { version } else { nil } }
    }

    /// Loads the agent's configurations anew. It happens by itself when a response says that they have changed.
    ///
    /// - Throws: `AuthorizationError`; `agentNotRunning`.
    public func loadConfiguration() async throws(AuthorizationError) {
        let reply: ConfigurationReply = try await answer(to: .init(method: .GET, path: AgentPath.configuration), checksVersion: false)
        do {
            let policy = try reply.policy()
            knowledge.withLock { $0 = .policy(policy, version: reply.version) }
        } catch {
            throw AuthorizationError(
                .agentUnavailable,
                "\(socketPath): the agent has a rule that this version can't read: \(error)",
                cause: error
            )
        }
    }

    /// Asks the agent; the fallback's answer while none runs.
    func withFallback<Value>(
        _ ask: () async throws(AuthorizationError) -> Value,
        _ askFallback: (any CredentialExtension) async throws(AuthorizationError) -> Value
    ) async throws(AuthorizationError) -> Value {
        do throws(AuthorizationError) {
            return try await ask()
        } catch {
            guard error.code == .agentNotRunning, let fallback else { throw error }
            knowledge.withLock { $0 = .fallback }
            return try await askFallback(fallback)
        }
    }

    /// Sends a request with a body and reads the answer.
    func post<Answer: Decodable>(
        _ path: String,
        _ body: (some Encodable)?,
        isRepeatable: Bool = true,
        waitsForAPerson: Bool = false
    ) async throws(AuthorizationError) -> Answer {
        let bytes: ByteBuffer
        do {
            bytes = ByteBuffer(bytes: try AgentJSON.encode(body))
        } catch {
            throw AuthorizationError(.failed, "The request can't be written.", cause: error)
        }
        var request = AgentConnection.Request(method: .POST, path: path, body: bytes)
        // A question stays open for five minutes.
        if waitsForAPerson { request.deadline = .minutes(6) }
        return try await answer(to: request, isRepeatable: isRepeatable)
    }

    /// Sends a request and reads the answer, or throws the problem that the agent tells.
    func answer<Answer: Decodable>(
        to request: AgentConnection.Request,
        isRepeatable: Bool = true,
        checksVersion: Bool = true
    ) async throws(AuthorizationError) -> Answer {
        let response = try await send(request, isRepeatable: isRepeatable)
        if checksVersion, let version = response.configurationVersion, isNews(version) {
            // The answer is as good without the new rules, which the next one brings up again.
            try? await loadConfiguration()
        }
        do {
            return try AgentJSON.decode(Answer.self, from: Data(response.body.readableBytesView))
        } catch {
            let message = "\(socketPath): the agent's answer (\(response.status)) can't be read. It may be another version: start it anew."
            throw AuthorizationError(.agentUnavailable, message, cause: error)
        }
    }

    /// Sends a request, and throws the problem that the agent tells.
    @discardableResult
    func send(_ request: AgentConnection.Request, isRepeatable: Bool) async throws(AuthorizationError) -> AgentConnection.Response {
        let response: AgentConnection.Response
        do throws(AgentConnection.Failure) {
            response = try await pool.send(request, isRepeatable: isRepeatable)
        } catch {
            throw AuthorizationError(error, path: socketPath)
        }
        guard 200..<300 ~= response.status else {
            throw problem(Data(response.body.readableBytesView), status: response.status)
        }
        return response
    }

    private func problem(_ body: Data, status: Int) -> AuthorizationError {
        do {
            return AuthorizationError(try AgentJSON.decode(AgentProblem.self, from: body))
        } catch {
            return AuthorizationError(.agentUnavailable, "\(socketPath): the agent answers \(status).", cause: error)
        }
    }

    private func isNews(_ version: String) -> Bool {
        knowledge.withLock { knowledge in
            if case .policy(_, let known) = knowledge { known != version } else { true }
        }
    }
}

extension AuthorizationError.Code {
    /// No agent listens on the socket.
    public static let agentNotRunning = AuthorizationError.Code(rawValue: "agentNotRunning")
    /// The agent went away before it had answered, or answers what this version does not understand.
    public static let agentUnavailable = AuthorizationError.Code(rawValue: "agentUnavailable")
    /// The agent does not serve this caller.
    public static let forbidden = AuthorizationError.Code(rawValue: "forbidden")
    /// The exchange has ended: it was completed, it waited too long for the server, or the agent was started anew.
    public static let unknownExchange = AuthorizationError.Code(rawValue: "unknownExchange")
}

extension AuthorizationError {
    init(_ failure: AgentConnection.Failure, path: String) {
        switch failure {
        case .notRunning(let cause):
            self.init(.agentNotRunning, "\(path): no agent listens there. Start it with: ksso agent run", cause: cause)
        case .lost: self.init(.agentUnavailable, "\(path): the agent closed the connection before it answered. Try again.")
        case .broken(let why): self.init(.agentUnavailable, "\(path): the agent's answer can't be used: \(why). Start the agent anew.")
        case .timedOut: self.init(.timedOut, "\(path): the agent did not answer in time.")
        case .canceled: self.init(.canceled, "The request was called off.")
        }
    }
}
