import Foundation
import HTTPNegotiate
import HTTPTypes
import Testing

/// `CredentialExtension` as an HTTP client uses it, with a fixed extension and no server.
struct CredentialExtensionTests {
    @Test func `a client authenticates through a credential extension`() async throws {
        let credential = FixedExtension(
            policy: DecisionPolicy([ExtensionConfiguration(realm: "EXAMPLE.TEST", hosts: [try HostRule(".example.com")])])
        )
        let url = try #require(URL(string: "https://www.example.com/"))
        var exchange = NegotiateExchange()
        #expect(exchange.receive(status: 401, challenges: ["Negotiate"]) == .begin)
        guard case .headers(let grant) = try await credential.beginAuthorization(with: AuthorizationRequest(url: url)) else {
            Issue.record("The extension did not answer")
            return
        }
        #expect(grant.headers[.authorization] == "Negotiate b25l")
        #expect(grant.servicePrincipal == "HTTP/www.example.com")
        exchange.sent()
        guard case .verify(let token) = exchange.receive(status: 200, challenges: ["Negotiate dHdv"]) else {
            Issue.record("The final token was not verified")
            return
        }
        #expect(try await grant.exchange.respond(to: token) == .established)
        #expect(exchange.verified() == .deliver(.authenticated))
    }

    @Test func `a forged final token does not verify`() async throws {
        await #expect(throws: AuthorizationError(.invalidResponse, "The token does not verify.")) {
            try await FixedExchange().respond(to: Array("forged".utf8))
        }
    }

    @Test func `an uncovered host is not handled`() async throws {
        let credential = FixedExtension(policy: DecisionPolicy([]))
        let url = try #require(URL(string: "https://www.example.com/"))
        let outcome = try await credential.beginAuthorization(with: AuthorizationRequest(url: url))
        guard case .notHandled(let reasons) = outcome else {
            Issue.record("An uncovered host was handled")
            return
        }
        #expect(reasons == credential.decision(for: url).reasons)
    }

    @Test func `a request does not allow prompts by default`() throws {
        let request = AuthorizationRequest(url: try #require(URL(string: "https://www.example.com/")))
        #expect(request.operation == .implicit)
        #expect(!request.isUserInterfaceEnabled)
        #expect(request.principal == nil)
        #expect(request.headers.isEmpty)
        #expect(request.options.isEmpty)
    }

    @Test func `errors are compared by code and message`() {
        struct Beneath: Error {}
        let error = AuthorizationError(.failed, "It failed.", cause: Beneath())
        #expect(error == AuthorizationError(.failed, "It failed."))
        #expect(error != AuthorizationError(.unknown, "It failed."))
        #expect(error.cause is Beneath)
        #expect("\(error)" == "It failed.")
        #expect("\(error.code)" == "failed")
    }
}

private struct FixedExtension: CredentialExtension {
    let policy: DecisionPolicy

    func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        switch decision(for: request.url) {
        case .ignore(let reasons): .notHandled(reasons)
        case .answer(let plan):
            .headers(
                AuthorizationGrant(
                    headers: NegotiateCredentials(token: Array("one".utf8)).headers,
                    identity: AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: plan.servicePrincipal),
                    exchange: FixedExchange()
                )
            )
        }
    }
}

private struct FixedExchange: AuthorizationExchange {
    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        guard token == Array("two".utf8) else { throw AuthorizationError(.invalidResponse, "The token does not verify.") }
        return .established
    }
}
