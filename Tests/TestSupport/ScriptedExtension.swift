package import HTTPNegotiate
internal import Synchronization

package import struct Foundation.URL

/// An extension with fake tokens. It handles `localhost`, `a.localhost` and `b.localhost`, also over plain http and as proxies.
///
/// Its exchange accepts `final` as the final token, answers `more` with another leg, and rejects any other token.
package final class ScriptedExtension: CredentialExtension {
    package typealias Answer = @Sendable (AuthorizationRequest) async throws -> AuthorizationOutcome

    private let policy: DecisionPolicy
    private let answer: Answer
    private let whoAnswers: @Sendable (AuthorizationRequest) -> AuthorizationIdentity?
    private let ready: @Sendable (AuthorizationRequest) async -> AuthorizationGrant?
    private let log = Mutex<[AuthorizationRequest]>([])
    private let readyLog = Mutex<[AuthorizationRequest]>([])

    /// The requests to begin an authorization.
    package var requests: [AuthorizationRequest] { log.withLock { $0 } }

    /// The requests for a grant that is ready.
    package var requestsForReady: [AuthorizationRequest] { readyLog.withLock { $0 } }

    /// Creates an extension.
    ///
    /// - Parameters:
    ///   - answer: The implementation of ``beginAuthorization(with:)``.
    ///   - change: Changes the configuration, which initially contains only the realm and the hosts.
    ///   - whoAnswers: The implementation of ``identity(for:)``; by default the identity of the default grant.
    ///   - ready: The implementation of ``readyGrant(for:)``; by default no grant is ready.
    package init(
        answer: @escaping Answer = { try ScriptedExtension.grant(for: $0) },
        change: (inout ExtensionConfiguration) throws -> Void = { _ in },
        whoAnswers: @escaping @Sendable (AuthorizationRequest) -> AuthorizationIdentity? = { try? ScriptedExtension.identity(for: $0) },
        ready: @escaping @Sendable (AuthorizationRequest) async -> AuthorizationGrant? = { _ in nil }
    ) throws {
        let rules = try ["localhost", "a.localhost", "b.localhost"].map { try HostRule($0) }
        var configuration = ExtensionConfiguration(realm: "EXAMPLE.TEST", hosts: rules, plainHTTPHosts: rules)
        configuration.proxyHosts = rules
        try change(&configuration)
        policy = DecisionPolicy([configuration])
        self.answer = answer
        self.whoAnswers = whoAnswers
        self.ready = ready
    }

    package func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    package func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        policy.decision(for: url, challenger: challenger)
    }

    package func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        log.withLock { $0.append(request) }
        guard case .answer = decision(for: request.url, challenger: request.challenger) else { return .notHandled([]) }
        do {
            return try await answer(request)
        } catch let error as AuthorizationError {
            throw error
        } catch {
            throw AuthorizationError(.canceled, "The request was cancelled.", cause: error)
        }
    }

    package func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        whoAnswers(request)
    }

    package func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
        readyLog.withLock { $0.append(request) }
        return await ready(request)
    }

    /// Returns the default identity: the caller's principal, or otherwise alice.
    package static func identity(for request: AuthorizationRequest) throws -> AuthorizationIdentity {
        AuthorizationIdentity(
            principal: request.principal ?? "alice@EXAMPLE.TEST",
            servicePrincipal: "HTTP/" + (try Origin(url: request.url).host)
        )
    }

    /// Returns a grant with a fake token and a new exchange.
    package static func grant(
        for request: AuthorizationRequest,
        identity: AuthorizationIdentity? = nil,
        token: [UInt8] = Array("first".utf8)
    ) throws -> AuthorizationOutcome {
        .headers(
            AuthorizationGrant(
                headers: NegotiateCredentials(token: token).headers(for: request.challenger),
                identity: try identity ?? Self.identity(for: request),
                exchange: ScriptedExchange(for: request.challenger)
            )
        )
    }
}

/// The security context of a grant.
package final class ScriptedExchange: AuthorizationExchange {
    private let challenger: Challenger

    package init(for challenger: Challenger = .origin) { self.challenger = challenger }

    private let legs = Mutex(1)

    package func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        switch String(decoding: token, as: UTF8.self) {
        case "final": return .established
        case "more":
            let leg = legs.withLock { leg in
                leg += 1
                return leg
            }
            return .send(NegotiateCredentials(token: Array("leg \(leg)".utf8)).headers(for: challenger))
        default: throw AuthorizationError(.invalidResponse, "The token does not verify.")
        }
    }
}
