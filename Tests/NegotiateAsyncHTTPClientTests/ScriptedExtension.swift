import HTTPNegotiate
import Synchronization

import struct Foundation.URL

/// An extension with made-up tokens. It covers `a.test`, `b.test` and the subdomains of `covered.test`, over plain http as well.
///
/// Its exchange takes `final` as the final token, answers `more` with a further leg, and refuses anything else.
final class ScriptedExtension: CredentialExtension {
    typealias Answer = @Sendable (AuthorizationRequest) async throws -> AuthorizationOutcome

    private let policy: DecisionPolicy
    private let answer: Answer
    private let log = Mutex<[AuthorizationRequest]>([])

    /// The requests that it was asked to answer.
    var requests: [AuthorizationRequest] { log.withLock { $0 } }

    init(answer: @escaping Answer = { try ScriptedExtension.grant(for: $0) }) throws {
        let rules = try ["a.test", "b.test", ".covered.test"].map { try HostRule($0) }
        policy = DecisionPolicy([ExtensionConfiguration(realm: "EXAMPLE.TEST", hosts: rules, plainHTTPHosts: rules)])
        self.answer = answer
    }

    func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        log.withLock { $0.append(request) }
        guard case .answer = decision(for: request.url) else { return .notHandled([]) }
        do {
            return try await answer(request)
        } catch let error as AuthorizationError {
            throw error
        } catch {
            throw AuthorizationError(.canceled, "The request was called off.", cause: error)
        }
    }

    static func grant(for request: AuthorizationRequest, token: [UInt8] = Array("first".utf8)) throws -> AuthorizationOutcome {
        let principal = request.principal ?? "alice@EXAMPLE.TEST"
        let service = "HTTP/" + (try Origin(url: request.url).host)
        let headers = NegotiateCredentials(token: token).headers
        return .headers(
            AuthorizationGrant(headers: headers, principal: principal, servicePrincipal: service, exchange: ScriptedExchange())
        )
    }
}

/// The security context that goes with it.
final class ScriptedExchange: AuthorizationExchange {
    private let legs = Mutex(1)

    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        switch String(decoding: token, as: UTF8.self) {
        case "final": return .established
        case "more":
            let leg = legs.withLock { leg in
                leg += 1
                return leg
            }
            return .send(NegotiateCredentials(token: Array("leg \(leg)".utf8)).headers)
        default: throw AuthorizationError(.invalidResponse, "The token does not verify.")
        }
    }
}
