import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOHTTP1
import NIOSSL
import NegotiateAsyncHTTPClient
import TLSChannelBinding
import TestSupport
import Testing

/// Tokens are bound to the server's certificate (RFC 5929). The server is our own acceptor because Apache supports no bindings here.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct ChannelBindingTests {
    let realm: TestRealm

    init() throws {
        realm = try TestRealm.required()
    }

    private func bindings(of identity: ServerIdentity) throws -> ChannelBindings {
        let certificate = try #require(try NIOSSLCertificate.fromPEMFile(identity.certificatePath).first).toDERBytes()
        return ChannelBindings(applicationData: try TLSServerEndPoint(certificate: certificate).applicationData)
    }

    @Test(arguments: ServerCertificate.all.filter { $0 != .ed25519 })
    func `a server that requires bindings is accepted with every certificate that has them`(certificate: ServerCertificate) async throws {
        let identity = try await realm.makeServerIdentity(certificate)
        let options = AcceptorServerOptions(identity: identity, channelBindings: .required(try bindings(of: identity)))
        try await withAcceptorServer(realm: realm, options) { server in
            let clients = try await SignedInClients(realm: realm, trusting: identity.certificatePath)
            try await clients.withClient { client in
                let answer = try await client.negotiate(HTTPClientRequest(url: server.url))
                #expect(answer.response.status == .ok)
                #expect(answer.report.isChannelBound)
            }
            #expect(server.requests.last?.flags.contains(.channelBound) == true)
        }
    }

    /// Ed25519 has no bindings (RFC 5929 section 4.1). A relay must not gain a token by choosing such a certificate.
    @Test(arguments: [false, true])
    func `a server whose certificate has no bindings gets no token unless the profile allows it`(isExcepted: Bool) async throws {
        let identity = try await realm.makeServerIdentity(.ed25519)
        try await withAcceptorServer(realm: realm, .init(identity: identity)) { server in
            let clients = try await SignedInClients(realm: realm, trusting: identity.certificatePath) {
                if isExcepted { $0.noChannelBindingHosts = [try HostRule("localhost")] }
            }
            try await clients.withClient({
                $0.connections.tlsConfiguration?.verifySignatureAlgorithms = [.ed25519]
            }) { client in
                let request = HTTPClientRequest(url: server.url)
                guard isExcepted else {
                    let error = await #expect(throws: AuthorizationError.self) { try await client.negotiate(request) }
                    #expect(error?.code == .channelBindingsUnavailable)
                    #expect(server.requests.allSatisfy { !$0.hasAuthorization })
                    return
                }
                let answer = try await client.negotiate(request)
                #expect(answer.delivery == .authenticated)
                #expect(!answer.report.isChannelBound)
            }
        }
    }

    @Test func `a server that requires bindings refuses curl, which sends none`() async throws {
        let identity = try await realm.makeServerIdentity()
        let options = AcceptorServerOptions(identity: identity, channelBindings: .required(try bindings(of: identity)))
        try await withAcceptorServer(realm: realm, options) { server in
            let cache = try await realm.signedInCache()
            let arguments = [
                "-sS", "--max-time", "120", "--cacert", identity.certificatePath, "--negotiate", "-u", ":", "-w", "%{http_code}",
            ]
            let reply = try await realm.run(
                "curl",
                arguments + ["-o", "/dev/null", server.url],
                environment: ["KRB5CCNAME": cache, "no_proxy": "*"]
            )
            #expect(reply.output == "401")
        }
    }

    @Test func `a token relayed under another certificate is refused`() async throws {
        let relay = try await realm.makeServerIdentity(.rsaSHA256)
        let server = try await realm.makeServerIdentity()
        // A relayed token has the bindings of the relay's certificate; the server compares them with its own.
        let options = AcceptorServerOptions(identity: relay, channelBindings: .compared(try bindings(of: server)))
        try await withAcceptorServer(realm: realm, options) { server in
            let clients = try await SignedInClients(realm: realm, trusting: relay.certificatePath)
            try await clients.withClient { client in
                let answer = try await client.negotiate(HTTPClientRequest(url: server.url))
                #expect(answer.response.status == .unauthorized)
                guard case .refused = answer.delivery else {
                    Issue.record("delivered as \(answer.delivery)")
                    return
                }
            }
            #expect(server.requests.last?.refusal?.code == .channelBindingsDiffer)
        }
    }

    @Test func `a token for a host in NoChannelBindingHosts is not channel bound`() async throws {
        let identity = try await realm.makeServerIdentity()
        try await withAcceptorServer(realm: realm, .init(identity: identity, channelBindings: .required(try bindings(of: identity)))) {
            server in
            let clients = try await SignedInClients(realm: realm, trusting: identity.certificatePath) {
                $0.noChannelBindingHosts = [try HostRule("localhost")]
            }
            try await clients.withClient { client in
                let answer = try await client.negotiate(HTTPClientRequest(url: server.url))
                #expect(answer.response.status == .unauthorized)
                #expect(!answer.report.isChannelBound)
            }
        }
    }

    @Test func `a preemptive token is channel bound`() async throws {
        let identity = try await realm.makeServerIdentity()
        try await withAcceptorServer(realm: realm, .init(identity: identity, channelBindings: .required(try bindings(of: identity)))) {
            server in
            let clients = try await SignedInClients(realm: realm, trusting: identity.certificatePath) {
                $0.preemptiveHosts = [try HostRule("localhost")]
            }
            try await clients.withClient { client in
                for _ in 1...3 {
                    let answer = try await client.negotiate(HTTPClientRequest(url: server.url))
                    #expect(answer.delivery == .authenticated)
                    _ = try await answer.response.text
                }
            }
            #expect(server.requests.map(\.hasAuthorization) == [false, true, true, true])
            #expect(server.requests.dropFirst().allSatisfy { $0.flags.contains(.channelBound) })
        }
    }

    @Test func `a certificate that changes between two connections gets its own token`() async throws {
        let second = try await realm.makeServerIdentity(.rsaSHA384)
        let identities = [try await realm.makeServerIdentity(), second, second]
        let sso = try ScriptedExtension()
        let proof = "Negotiate " + Data("final".utf8).base64EncodedString()
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .response(200, [("WWW-Authenticate", proof)], body: "hello")
        }
        try await ScriptedServer.run(script, identities: identities) { server in
            var configuration = NegotiatingHTTPClient.Configuration()
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try identities.flatMap { try NIOSSLCertificate.fromPEMFile($0.certificatePath) })
            configuration.connections.tlsConfiguration = tls
            try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
                let answer = try await client.negotiate(HTTPClientRequest(url: "https://localhost:\(server.port)/"))
                #expect(answer.delivery == .authenticated)
            }
            // The challenge came over the first certificate; the connection for the token shows the second, and so does the one after it.
            let expected = try identities.prefix(2).map { try bindings(of: $0).applicationData }
            #expect(sso.requests.map(\.channelBindings) == expected)
            #expect(server.requests.filter { $0.field("Authorization") != nil }.count == 1, "no token over the wrong certificate")
        }
    }

    @Test(arguments: [UnboundTLS.allowed, .refused])
    func `unboundTLS decides about TLS through a given client, which shows no certificate`(unboundTLS: UnboundTLS) async throws {
        let identity = try await realm.makeServerIdentity()
        try await withAcceptorServer(realm: realm, .init(identity: identity)) { server in
            let clients = try await SignedInClients(realm: realm, trusting: identity.certificatePath)
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.tlsConfiguration = try SignedInClients.trust(identity.certificatePath)
            let given = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
            let client = NegotiatingHTTPClient(extension: clients.sso, client: given, unboundTLS: unboundTLS)
            do {
                let answer = try await client.negotiate(HTTPClientRequest(url: server.url))
                #expect(unboundTLS == .allowed)
                #expect(answer.delivery == .authenticated)
                #expect(!answer.report.isChannelBound)
            } catch let error as AuthorizationError {
                #expect(unboundTLS == .refused)
                #expect(error.code == .channelBindingsUnavailable)
                #expect(server.requests.allSatisfy { !$0.hasAuthorization })
            }
            try await given.shutdown()
        }
    }
}
