import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// SPNEGO responses without an AP-REP, with a real KDC: a reject, and an acceptance without a proof, as gokrb5's servers send it.
@Suite(.testRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"])) struct ServerDecisionTests {
    private static let reject: [UInt8] = [0xA1, 0x07, 0x30, 0x05, 0xA0, 0x03, 0x0A, 0x01, 0x02]
    private static let acceptance: [UInt8] = [
        0xA1, 0x14, 0x30, 0x12, 0xA0, 0x03, 0x0A, 0x01, 0x00, 0xA1, 0x0B, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02,
    ]

    private func withClient(
        _ library: ClientLibrary,
        _ options: AcceptorServerOptions,
        _ mutualAuthentication: MutualAuthentication? = nil,
        _ body: (String, any Client) async throws -> Void
    ) async throws {
        let realm = try #require(TestRealm.current)
        let hosts = [try HostRule("localhost")]
        let sso = KerberosExtension(
            KerberosExtension.Options(
                configurations: [ExtensionConfiguration(realm: realm.name, hosts: hosts, plainHTTPHosts: hosts)],
                base: .files([realm.configurationPath]),
                defaultCacheName: "MEMORY:\(library)-\(UInt64.random(in: .min ... .max))",
                additionalCacheDirectory: "\(realm.directory)/caches"
            )
        )
        try await sso.signIn("alice", using: .password(Secret("alice-secret")))
        try await withAcceptorServer(realm: realm, options) { server in
            let settings = ClientSettings { $0.mutualAuthentication = mutualAuthentication }
            try await library.withClient(extension: sso, settings: settings) { try await body("\(server.url)/", $0) }
        }
    }

    @Test(arguments: ClientLibrary.allCases, [MutualAuthentication.required, .optional])
    func `a 401 with a reject is delivered as the server's refusal`(library: ClientLibrary, mutual: MutualAuthentication) async throws {
        let options = AcceptorServerOptions(
            finalToken: .replaced(Self.reject),
            answer: { $0.initiator == nil ? .negotiated : .status(401) }
        )
        try await withClient(library, options, mutual) { url, client in
            let reply = try await client.send(ClientRequest(url: url))
            guard case .refused(let reason) = reply.delivery else {
                Issue.record("\(reply.delivery)")
                return
            }
            #expect(
                reason == "HTTP/localhost@EXAMPLE.TEST: the server rejected the ticket without giving a reason. "
                    + "Check its keytab, its clock and its access rules."
            )
            #expect(reply.status == 401)
            #expect(reply.body == "Hello alice@EXAMPLE.TEST\n", "the body of the refusal")
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `an acceptance without a proof is an error that names the profile key`(library: ClientLibrary) async throws {
        try await withClient(library, AcceptorServerOptions(finalToken: .replaced(Self.acceptance))) { url, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(ClientRequest(url: url)) }
            #expect(error?.code == .mutualAuthenticationFailed)
            #expect(
                error?.message.contains("answered 200 and accepted the ticket without mutual authentication") == true,
                "\(error?.message ?? "")"
            )
            #expect(error?.message.contains("OptionalMutualAuthenticationHosts") == true)
        }
    }

    @Test(arguments: ClientLibrary.allCases, [MutualAuthentication.optional, .off])
    func `an acceptance without a proof is accepted if none is required`(library: ClientLibrary, mutual: MutualAuthentication)
        async throws
    {
        try await withClient(library, AcceptorServerOptions(finalToken: .replaced(Self.acceptance)), mutual) { url, client in
            let reply = try await client.send(ClientRequest(url: url))
            #expect(reply.delivery == .authenticated)
            #expect(reply.body == "Hello alice@EXAMPLE.TEST\n")
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a 200 response with a reject is an error`(library: ClientLibrary) async throws {
        try await withClient(library, AcceptorServerOptions(finalToken: .replaced(Self.reject)), .optional) { url, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(ClientRequest(url: url)) }
            #expect(error?.code == .refusedByServer)
        }
    }
}
