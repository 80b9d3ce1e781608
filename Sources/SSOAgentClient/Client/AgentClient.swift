public import Foundation
public import HTTPNegotiate
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// A credential extension that uses the user's agent, so that all processes of the user share one sign-in and this process does not use
/// libkrb5.
///
/// ```swift
/// let agent = try await AgentClient.connect()
/// let http = NegotiatingHTTPClient(extension: agent)
/// ```
///
/// Safe to use from any number of tasks. The client reconnects when the agent has closed a connection. Canceling a task cancels its
/// request.
///
/// When the agent's profiles change, its next response says so and the client loads the new configurations. Because no request is sent for
/// an ignored host, the client then checks the configurations in the background: at most every five seconds, and less often while they stay
/// the same, down to about every twenty minutes. A host that a profile starts to cover is handled after the next check, or after the next
/// response of the agent to another request.
public final class AgentClient: CredentialExtension {
    /// What the client knows about the agent's configurations.
    private enum Knowledge {
        case nothing
        /// No agent is running; the fallback decides.
        case fallback
        case policy(DecisionPolicy, version: String)
    }

    /// The path of the agent's socket.
    public let socketPath: String
    let pool: AgentConnectionPool
    private let fallback: (any CredentialExtension)?
    private let knowledge = Mutex(Knowledge.nothing)
    private let recheckInterval: Duration
    /// The background checks caused by ignored hosts.
    private let rechecks = Mutex(Rechecks())

    /// When the configurations were last checked because of an ignored host. The interval doubles while they do not change, so that a
    /// program that uses only other hosts neither keeps an idle agent running nor makes systemd start it again and again.
    private struct Rechecks {
        var last: ContinuousClock.Instant?
        var doublings = 0
        var isUnderWay = false
        static let mostDoublings = 8
    }

    /// Creates a client that has not contacted the agent yet. Until it has, ``decision(for:)`` ignores every host: see
    /// ``connect(socketPath:agentUser:fallback:)``, which has the same parameters.
    package convenience init(socketPath: String? = nil, agentUser: UInt32? = nil, fallback: (any CredentialExtension)? = nil) {
        self.init(socketPath: socketPath, agentUser: agentUser, fallback: fallback, recheckInterval: .seconds(5))
    }

    /// - Parameter recheckInterval: The initial interval of the checks that ignored hosts cause.
    package init(socketPath: String?, agentUser: UInt32? = nil, fallback: (any CredentialExtension)?, recheckInterval: Duration) {
        self.recheckInterval = recheckInterval
        self.socketPath = socketPath ?? RuntimeDirectory(environment: ProcessInfo.processInfo.environment).apiSocket
        pool = AgentConnectionPool(path: self.socketPath, owner: AgentConnection.Owner(user: agentUser))
        self.fallback = fallback
    }

    /// Creates a client and loads the agent's configurations, so that it can decide without a request.
    ///
    /// - Parameters:
    ///   - socketPath: The path of the agent's socket; nil means `agent.sock` in `$KSSO_RUNTIME_DIR` or its default.
    ///   - agentUser: The ID of the agent's user, if it is not this process's user. A socket of any other user except root is refused.
    ///   - fallback: The extension that decides and authorizes while no agent is running; nil means that these calls throw
    ///     `agentNotRunning`, as all others do in any case.
    /// - Throws: `AuthorizationError`; `agentNotRunning` if no agent is running and there is no fallback.
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

    /// Returns the decision for a URL by the agent's configurations, without a request; the fallback's decision while no agent is running.
    ///
    /// If the decision ignores the host, the client checks in the background whether the configurations have changed: at most every five
    /// seconds, and less often while they stay the same, down to about every twenty minutes.
    public func decision(for url: URL) -> AuthorizationDecision { decision(for: url, challenger: .origin) }

    /// Returns the decision for an origin server or a proxy by the agent's configurations, as ``decision(for:)`` does. An agent of a
    /// version that knows no proxies sends no rules for them, so every proxy is ignored.
    public func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        let decision = knownDecision(for: url, challenger)
        if case .ignore = decision { recheck() }
        return decision
    }

    private func knownDecision(for url: URL, _ challenger: Challenger) -> AuthorizationDecision {
        switch knowledge.withLock({ $0 }) {
        case .policy(let policy, _): return policy.decision(for: url, challenger: challenger)
        case .fallback where fallback != nil: return fallback?.decision(for: url, challenger: challenger) ?? .ignore([])
        case .nothing, .fallback:
            let detail = "The agent's configuration is not loaded yet."
            return .ignore([DecisionReason(rule: "hostRule", verdict: .failed, detail: detail)])
        }
    }

    /// Checks in the background whether the configurations that ignore the host still apply.
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
            // If no agent is running, the known configurations stay.
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

    /// Loads the agent's configurations. The client also calls this itself when a response says that they have changed.
    ///
    /// - Throws: `AuthorizationError`; `agentNotRunning` if no agent is running.
    public func loadConfiguration() async throws(AuthorizationError) {
        do throws(AuthorizationError) {
            let reply: ConfigurationReply = try await answer(to: .init(method: .GET, path: AgentPath.configuration), checksVersion: false)
            knowledge.withLock { $0 = .policy(DecisionPolicy(reply.configurations), version: reply.version) }
        } catch {
            // A value that was refused has a place in the answer; an answer that is not JSON has none.
            guard case .dataCorrupted(let context) = error.cause as? DecodingError, !context.codingPath.isEmpty else { throw error }
            let message = "\(socketPath): the agent has a rule that this version cannot read: \(context.debugDescription)"
            throw AuthorizationError(.agentUnavailable, message, cause: error.cause)
        }
    }

    /// Sends a request to the agent, or uses the fallback if no agent is running.
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

    /// Sends a request with a body and decodes the response.
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
            throw AuthorizationError(.failed, "The request cannot be encoded.", cause: error)
        }
        var request = AgentConnection.Request(method: .POST, path: path, body: bytes)
        // A prompt stays open for five minutes.
        if waitsForAPerson { request.deadline = .minutes(6) }
        return try await answer(to: request, isRepeatable: isRepeatable)
    }

    /// Sends a request and decodes the response, or throws the problem that the agent reports.
    func answer<Answer: Decodable>(
        to request: AgentConnection.Request,
        isRepeatable: Bool = true,
        checksVersion: Bool = true
    ) async throws(AuthorizationError) -> Answer {
        let response = try await send(request, isRepeatable: isRepeatable)
        if checksVersion, let version = response.configurationVersion, isNews(version) {
            // The response is valid without the new configurations, and the next response triggers loading them again.
            try? await loadConfiguration()
        }
        do {
            return try AgentJSON.decode(Answer.self, from: Data(response.body.readableBytesView))
        } catch {
            let message =
                "\(socketPath): the agent's response (\(response.status)) cannot be read. It may be another version: restart the agent."
            throw AuthorizationError(.agentUnavailable, message, cause: error)
        }
    }

    /// Sends a request, and throws the problem that the agent reports.
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
            return AuthorizationError(.agentUnavailable, "\(socketPath): the agent responded with status \(status).", cause: error)
        }
    }

    private func isNews(_ version: String) -> Bool {
        knowledge.withLock { knowledge in
            if case .policy(_, let known) = knowledge { known != version } else { true }
        }
    }
}

extension AuthorizationError {
    init(_ failure: AgentConnection.Failure, path: String) {
        switch failure {
        case .notRunning(let cause):
            self.init(.agentNotRunning, "\(path): no agent listens there. Start it with: ksso agent run --background", cause: cause)
        case .lost: self.init(.agentUnavailable, "\(path): the agent closed the connection before it responded. Try again.")
        case .broken(let why): self.init(.agentUnavailable, "\(path): the agent's response is invalid: \(why). Restart the agent.")
        case .timedOut: self.init(.timedOut, "\(path): the agent did not respond in time.")
        case .canceled: self.init(.canceled, "The request was canceled.")
        }
    }
}
