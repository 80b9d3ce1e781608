import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import SignOnPolicy
import TestSupport
import Testing

/// Credentials that the caller sets, and those that URLSession would find by itself.
@Suite(.timeLimit(.minutes(5))) struct OwnCredentialsTests {
    @Test func `credentials in the template's fields are sent to the first origin only`() async throws {
        let configuration = settings { $0.session.httpAdditionalHeaders = ["authorization": "Bearer mine", "X-Kept": "yes"] }
        let script: ScriptedServer.Script = { request in
            request.target == "/1" ? .redirect(302, to: "http://b.localhost:\(request.port)/2") : .challenge
        }
        try await withServer(configuration: configuration, script: script) { server, session in
            let reply = try await session.send("GET", server.url("a.localhost", "/1"))
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == ["Bearer mine", nil])
            #expect(server.requests.map { $0.field("X-Kept") } == ["yes", "yes"])
        }
    }

    @Test func `credentials in URLCredentialStorage are not used`() async throws {
        try await withServer(script: { _ in .response(401, [("WWW-Authenticate", #"Basic realm="stored""#)]) }) { server, _ in
            let storage = URLCredentialStorage()
            let space = URLProtectionSpace(
                host: "a.localhost",
                port: server.port,
                protocol: "http",
                realm: "stored",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            )
            storage.setDefaultCredential(URLCredential(user: "user", password: "pass", persistence: .forSession), for: space)
            let session = NegotiatingURLSession(
                extension: try ScriptedExtension(),
                unboundTLS: .allowed,
                configuration: settings { $0.session.urlCredentialStorage = storage }
            )
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 401)
            #expect(server.requests.map { $0.field("Authorization") } == [nil])
        }
    }
}
