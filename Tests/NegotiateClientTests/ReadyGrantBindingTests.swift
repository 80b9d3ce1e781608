import Foundation
import HTTPNegotiate
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Ready tokens are bound to the certificate that the server showed before, and the server may show another.
@Suite struct ReadyGrantBindingTests {
    /// A server that challenges, with a certificate for each request without a token.
    private final class Server: NegotiateTransport {
        struct Request: NegotiableRequest {
            var url = "https://a.localhost/"
            var methodName = "GET"
            var fields = HTTPFields()
            var isReplayable: Bool { true }

            func hasField(_ name: String) -> Bool { HTTPField.Name(name).map { fields.contains($0) } ?? false }
            mutating func removeField(_ name: String) { HTTPField.Name(name).map { fields[$0] = nil } }
            mutating func replace(with new: HTTPFields) { for field in new { fields[field.name] = field.value } }
            mutating func removeBody() {}
            mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {}
        }

        struct Response: NegotiableResponse {
            var statusCode: Int
            var challenge: String
            var channelBindings: [UInt8]?
            var isMultiplexed: Bool { false }

            func fieldValues(_ name: String) -> [String] { name == "WWW-Authenticate" ? [challenge] : [] }
            func drain() async {}
        }

        struct Connection: NegotiatedConnection {
            let identity: ConnectionIdentity
            func keep(isAuthenticated: Bool) {}
        }

        private let certificates: Mutex<[[UInt8]?]>
        /// The received tokens, and the certificates of their connections.
        let received = Mutex<[(token: String?, certificate: [UInt8]?)]>([])

        init(showing certificates: [[UInt8]?]) { self.certificates = Mutex(certificates) }

        var showsCertificates: Bool { true }

        func sendWithoutCredentials(_ request: Request, to origin: Origin) async throws -> Response {
            Response(statusCode: 401, challenge: "Negotiate", channelBindings: certificates.withLock { $0.removeFirst() })
        }

        func sendWithOwnCredentials(_ request: Request, to origin: Origin) async throws -> Response {
            Response(statusCode: 401, challenge: "Negotiate")
        }

        func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) -> Connection { Connection(identity: identity) }

        func authenticatedConnection(for identity: ConnectionIdentity) -> Connection? { nil }

        func send(_ request: Request, over connection: Connection, to origin: Origin) async throws -> Response {
            received.withLock { $0.append((request.fields[.authorization], connection.identity.channelBindings)) }
            return Response(statusCode: 200, challenge: negotiate("final"))
        }
    }

    /// Makes tokens whose text is their channel bindings and whether they were ready.
    private func makeExtension() throws -> ScriptedExtension {
        let grant: @Sendable (AuthorizationRequest, String) throws -> AuthorizationOutcome = { request, name in
            try ScriptedExtension.grant(for: request, token: Array("\(name) \(request.channelBindings ?? [])".utf8))
        }
        return try ScriptedExtension(
            answer: { try grant($0, "asked") },
            ready: { request in
                guard case .headers(let grant)? = try? grant(request, "ready") else { return nil }
                return grant
            }
        )
    }

    private func fetch(_ count: Int, from server: Server, unboundTLS: UnboundTLS = .refused) async throws -> [String?] {
        var options = NegotiationOptions()
        (options.maximumRedirects, options.maximumReplayableBody) = (0, 0)
        let call = NegotiatingCall(
            credentialExtension: try makeExtension(),
            settings: CallSettings(options, unboundTLS: unboundTLS),
            transport: server,
            memory: OriginMemory()
        )
        for _ in 0..<count {
            let result = try await call.run(Server.Request())
            #expect(result.report.delivery == .authenticated)
        }
        return server.received.withLock { $0.map(\.token) }
    }

    @Test func `a ready token for another certificate is replaced`() async throws {
        let server = Server(showing: [[1], [1], [2], [2]])
        let tokens = try await fetch(4, from: server)
        #expect(tokens == ["asked [1]", "ready [1]", "asked [2]", "ready [2]"].map(negotiate))
        #expect(server.received.withLock { $0.map(\.certificate) } == [[1], [1], [2], [2]])
    }

    @Test func `a certificate without bindings gets no token bound to another one`() async throws {
        let server = Server(showing: [nil, nil, [1], nil])
        let tokens = try await fetch(4, from: server, unboundTLS: .allowed)
        #expect(tokens == ["asked []", "ready []", "asked [1]", "asked []"].map(negotiate))
    }

    @Test func `a ready token is used for one second and for its certificate only`() throws {
        let request = AuthorizationRequest(url: try #require(URL(string: "https://a.localhost/")), channelBindings: [1])
        guard case .headers(let grant) = try ScriptedExtension.grant(for: request) else {
            Issue.record("the extension gives no grant")
            return
        }
        let now = ContinuousClock.now
        let ready = ReadyGrant(grant, channelBindings: [1], madeAt: now)
        #expect(ready.answers(channelBindings: [1], now: now + .seconds(1)))
        #expect(!ready.answers(channelBindings: [1], now: now + .milliseconds(1001)))
        #expect(!ready.answers(channelBindings: [2], now: now))
        #expect(!ready.answers(channelBindings: nil, now: now))
    }
}
