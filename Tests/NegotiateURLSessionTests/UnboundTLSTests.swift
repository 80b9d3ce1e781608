import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import Synchronization
import TestSupport
import Testing

/// Tokens over HTTPS without channel bindings, because URLSession shows no certificate. On Linux a URLSession trusts only the system's
/// authorities, so the server is a `URLProtocol`.
@Suite(.serialized, .timeLimit(.minutes(5))) struct UnboundTLSTests {
    /// Answers for `https://secure.localhost`: a challenge, or a page for a request with a token.
    private final class SecureServer: URLProtocol {
        static let fields = Mutex<[String?]>([])

        override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "secure.localhost" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            let authorization = request.value(forHTTPHeaderField: "Authorization")
            SecureServer.fields.withLock { $0.append(authorization) }
            let challenge = authorization == nil ? "Negotiate" : negotiate("final")
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url,
                    statusCode: authorization == nil ? 401 : 200,
                    httpVersion: "HTTP/1.1",
                    headerFields: ["WWW-Authenticate": challenge]
                )
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("hello".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    private func send(
        _ unboundTLS: UnboundTLS,
        change: (inout ExtensionConfiguration) throws -> Void = { _ in }
    ) async throws -> Result<Reply, any Error> {
        SecureServer.fields.withLock { $0 = [] }
        let sso = try ScriptedExtension(change: { configuration in
            configuration.hosts = [try HostRule("secure.localhost")]
            try change(&configuration)
        })
        let configuration = settings { $0.session.protocolClasses = [SecureServer.self] }
        let session = NegotiatingURLSession(extension: sso, unboundTLS: unboundTLS, configuration: configuration)
        do {
            return .success(try await session.send("GET", "https://secure.localhost/"))
        } catch {
            return .failure(error)
        }
    }

    private var tickets: [String?] { SecureServer.fields.withLock { $0 } }

    @Test func `if unboundTLS is allowed a token is sent without channel bindings`() async throws {
        let reply = try await send(.allowed).get()
        #expect(reply.body == "hello")
        #expect(reply.delivery == .authenticated)
        #expect(!reply.report.isChannelBound)
        #expect(tickets == [nil, negotiate("first")])
    }

    @Test func `if unboundTLS is refused no token is sent`() async throws {
        let error = await #expect(throws: AuthorizationError.self) { try await send(.refused).get() }
        #expect(error?.code == .channelBindingsUnavailable)
        #expect(tickets == [nil])
    }

    @Test func `if unboundTLS is refused a host in noChannelBindingHosts still gets a token`() async throws {
        let reply = try await send(.refused) { $0.noChannelBindingHosts = [try HostRule("secure.localhost")] }.get()
        #expect(reply.delivery == .authenticated)
        #expect(tickets == [nil, negotiate("first")])
    }

    @Test func `if unboundTLS is refused plain HTTP still gets a token`() async throws {
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            let session = NegotiatingURLSession(extension: try ScriptedExtension(), unboundTLS: .refused, configuration: settings())
            let reply = try await session.send("GET", server.url())
            #expect(reply.delivery == .authenticated)
        }
    }
}
