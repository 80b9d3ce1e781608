import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Responses of ``AcceptorServer`` to tokens of this package's initiator.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct AcceptorServerTokenTests {
    private static let one = ChannelBindings(applicationData: Array("tls-server-end-point:one".utf8))
    private static let two = ChannelBindings(applicationData: Array("tls-server-end-point:two".utf8))

    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    /// The columns: the client's bindings, the server's policy, the reason for a rejection, and whether the context is channel-bound.
    @Test(
        arguments: [
            (nil, .none, nil, false), (one, .none, nil, false),
            (one, .compared(one), nil, true), (nil, .compared(one), nil, false), (one, .compared(two), .channelBindingsDiffer, false),
            (one, .required(one), nil, true), (nil, .required(one), .flagsNotGranted, false),
            (one, .required(two), .channelBindingsDiffer, false),
        ] as [(ChannelBindings?, AcceptorServerOptions.BindingPolicy, KerberosError.Code?, Bool)]
    )
    func `channel bindings are accepted or rejected according to the server's policy`(
        client: ChannelBindings?,
        policy: AcceptorServerOptions.BindingPolicy,
        refusal: KerberosError.Code?,
        isBound: Bool
    ) async throws {
        let token = try firstToken(from: try await credential(), channelBindings: client)
        try await withAcceptorServer(realm: realm, .init(channelBindings: policy)) { server in
            let reply = try await realm.send(token, to: server).output
            #expect(reply.contains(refusal == nil ? "200 OK" : "401 Unauthorized"))
            let request = try #require(server.requests.first)
            #expect(request.refusal?.code == refusal)
            #expect(request.flags.contains(.channelBound) == isBound)
            #expect((request.initiator == nil) == (refusal != nil))
        }
    }

    @Test func `the final token authenticates the server`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            let end = try await answer(of: server)
            #expect(end?.contains(.mutualAuthentication) == true)
        }
    }

    @Test(arguments: [.dropped, .garbage] as [AcceptorServerOptions.FinalToken])
    func `the final token can be missing or wrong`(finalToken: AcceptorServerOptions.FinalToken) async throws {
        try await withAcceptorServer(realm: realm, .init(finalToken: finalToken)) { server in
            if finalToken == .dropped {
                let end = try await answer(of: server)
                #expect(end == nil)
            } else {
                let error = await #expect(throws: KerberosError.self) { _ = try await answer(of: server) }
                #expect(error?.code == .invalidToken, "\(error as Any)")
            }
            #expect(server.requests.map(\.status) == [200], "the server itself accepts the client's token")
        }
    }

    @Test func `a test can choose the status of a response`() async throws {
        let answer: @Sendable (AcceptorServer.Request) -> AcceptorServerOptions.Answer = { request in
            switch request.path {
            case "/never": .challenged
            case "/moved": .status(307, fields: ["Location": "/elsewhere"])
            default: .status(503)
            }
        }
        let credential = try await credential()
        try await withAcceptorServer(realm: realm, .init(answer: answer)) { server in
            let never = try await realm.send(firstToken(from: credential), to: server, path: "/never").output
            #expect(never.hasPrefix("HTTP/1.1 401 ") && never.contains("\r\nWWW-Authenticate: Negotiate\r\n"))
            let moved = try await realm.send(firstToken(from: credential), to: server, path: "/moved").output
            #expect(moved.hasPrefix("HTTP/1.1 307 ") && moved.contains("\r\nLocation: /elsewhere\r\n"))
            #expect(moved.contains("\r\nWWW-Authenticate: Negotiate oYG"))
            let broken = try await realm.curl(["-i", server.url]).output
            #expect(broken.hasPrefix("HTTP/1.1 503 ") && !broken.contains("WWW-Authenticate"))
            #expect(server.requests.map(\.status) == [401, 307, 503])
            #expect(server.requests.map { $0.initiator != nil } == [true, true, false])
        }
    }

    /// DCE style has three legs instead of two.
    @Test func `a negotiation can take two requests on one connection`() async throws {
        let flags: ContextFlags = [.mutualAuthentication, .integrity, ContextFlags(rawValue: 0x1000)]
        let credential = try await credential()
        try await withAcceptorServer(realm: realm) { server in
            try await withClientConnection(port: server.port) { connection in
                guard case .proceed(let token, let initiator) = try SPNEGOInitiator.begin(with: credential, flags: flags) else {
                    throw UnexpectedStep(text: "the client's context is established before the server has replied")
                }
                let answer = try await Self.challenge(token, over: &connection)
                guard case .proceed(let next, let later) = try initiator.step(answer) else { throw UnexpectedStep(text: "no third leg") }
                let proof = try await Self.challenge(next, over: &connection)
                guard case .established(nil, _) = try later.step(proof) else { throw UnexpectedStep(text: "a fifth leg") }
            }
            #expect(server.requests.map(\.status) == [401, 200])
            #expect(server.requests.map(\.initiator) == [nil, "alice@EXAMPLE.TEST"])
            #expect(server.requests.map(\.connection) == [1, 1])
        }
    }

    /// Sends a token and returns the token of the response.
    nonisolated(nonsending) private static func challenge(_ token: [UInt8], over connection: inout ClientConnection) async throws -> [UInt8]
    {
        let answer = try await connection.get(fields: ["Authorization": "Negotiate \(Data(token).base64EncodedString())"])
        let field = try #require(answer?["WWW-Authenticate"].first)
        return Array(try #require(Data(base64Encoded: String(field.dropFirst("Negotiate ".count)))))
    }

    private func credential() async throws -> InitiatorCredential {
        let alice = try Principal("alice", defaultRealm: realm.name)
        let service = try Principal("HTTP/localhost", defaultRealm: realm.name)
        let client = KerberosClient(realm.configuration)
        let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        let cache = CredentialCacheName(rawValue: "FILE:\(realm.directory)/\(UUID().uuidString)")
        try await client.replace(cache, principal: alice, credentials: [ticket])
        return try await client.initiatorCredential(for: client.serviceTicket(for: service, in: cache))
    }

    /// Sends a token of this package's initiator, and passes the server's token to it; nil if the response has none.
    private func answer(of server: AcceptorServer) async throws -> ContextFlags? {
        switch try SPNEGOInitiator.begin(with: try await credential()) {
        case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
        case .proceed(let token, let initiator):
            let reply = try await realm.send(token, to: server).output
            guard let match = reply.firstMatch(of: /WWW-Authenticate: Negotiate (\S+)/) else { return nil }
            let bytes = try #require(Data(base64Encoded: String(match.1)))
            guard case .established(_, let context) = try initiator.step(Array(bytes)) else {
                throw UnexpectedStep(text: "a second round trip")
            }
            return context.flags
        }
    }
}
