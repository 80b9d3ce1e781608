import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import Synchronization
import TestSupport
import Testing

/// Complete requests, with a real KDC and a real Apache with mod_auth_gssapi.
@Suite(.testRealm(users: ["alice": "alice-secret", "bob": "bob-secret"], services: ["HTTP/localhost"]))
struct ProtectedServerTests {
    private func makeExtension(signedIn names: [String] = ["alice"]) async throws -> KerberosExtension {
        let realm = try #require(TestRealm.current)
        let folder = "\(realm.directory)/\(UUID().uuidString)"
        let hosts = [try HostRule("localhost")]
        let sso = KerberosExtension(
            KerberosExtension.Options(
                configurations: [ExtensionConfiguration(realm: realm.name, hosts: hosts, plainHTTPHosts: hosts)],
                base: .files([realm.configurationPath]),
                defaultCacheName: "FILE:\(folder)-cache",
                additionalCacheDirectory: "\(folder)-caches"
            )
        )
        for name in names { try await sso.signIn(name, using: .password(Secret("\(name)-secret"))) }
        return sso
    }

    /// Runs a server, and a client that authenticates as alice or with the given extension.
    private func withClient(
        _ library: ClientLibrary,
        _ options: ProtectedWebServerOptions = ProtectedWebServerOptions(),
        extension given: (any CredentialExtension)? = nil,
        _ body: (ProtectedWebServer, any Client) async throws -> Void
    ) async throws {
        let realm = try #require(TestRealm.current)
        let credentialExtension: any CredentialExtension = if let given { given } else { try await makeExtension() }
        try await withProtectedWebServer(realm: realm, options) { server in
            try await library.withClient(extension: credentialExtension) { try await body(server, $0) }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `every library authenticates a signed-in user at Apache`(library: ClientLibrary)
        async throws
    {
        try await withClient(library) { server, client in
            for _ in 1...2 {
                let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                #expect(reply.status == 200)
                #expect(reply.body == "Hello alice@EXAMPLE.TEST\n")
                #expect(reply.delivery == .authenticated)
                #expect(reply.report.identity?.servicePrincipal.hasPrefix("HTTP/localhost") == true)
            }
            let posted = try await client.send(ClientRequest(method: "POST", url: "\(server.url)/hello", body: .text("name=value")))
            #expect(posted.body == "Hello alice@EXAMPLE.TEST\n")
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a public page of Apache gets no token`(library: ClientLibrary) async throws {
        try await withClient(library) { server, client in
            let reply = try await client.send(ClientRequest(url: "\(server.url)/open"))
            #expect(reply.delivery == .unauthenticated)
            #expect(reply.body == "open\n")
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a request to Apache without a session is a not-signed-in error`(library: ClientLibrary)
        async throws
    {
        try await withClient(library, extension: makeExtension(signedIn: [])) { server, client in
            let error = await #expect(throws: AuthorizationError.self) {
                try await client.send(ClientRequest(url: "\(server.url)/hello"))
            }
            #expect(error?.code == .notSignedIn)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `concurrent tasks authenticate at Apache`(library: ClientLibrary) async throws {
        try await withClient(library) { server, client in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...40 { group.addTask { try await client.send(ClientRequest(url: "\(server.url)/hello")).body } }
                for try await text in group { #expect(text == "Hello alice@EXAMPLE.TEST\n") }
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `an untrusted certificate is a TLS error`(library: ClientLibrary) async throws {
        try await withClient(library, ProtectedWebServerOptions(usesTLS: true)) { server, client in
            let error = await #expect(throws: HTTPTransportError.self) {
                try await client.send(ClientRequest(url: "\(server.url)/hello"))
            }
            #expect(error?.code == .tls)
            #expect(error?.message.hasSuffix("Check its certificate and the trusted authorities.") == true, "\(error?.message ?? "")")
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `https to a port for plain http is an error without advice on certificates`(
        library: ClientLibrary
    ) async throws {
        try await withClient(library) { server, client in
            let url = server.url.replacing("http:", with: "https:")
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(ClientRequest(url: "\(url)/hello")) }
            #expect(error?.code == .tls && error?.message.hasSuffix(". Check the scheme and the port.") == true, "\(error?.message ?? "")")
        }
    }

    /// An extension that authenticates as the chosen one of the signed-in principals.
    private final class Turns: CredentialExtension {
        private let base: KerberosExtension
        private let principal = Mutex<String?>(nil)

        init(_ base: KerberosExtension) { self.base = base }

        func choose(_ name: String) { principal.withLock { $0 = name } }

        func decision(for url: URL) -> AuthorizationDecision { base.decision(for: url) }

        func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
            var request = request
            request.principal = principal.withLock { $0 }
            return try await base.beginAuthorization(with: request)
        }
    }

    /// Apache treats every later request of a connection as the user's who authenticated it, so the page shows a confused connection.
    @Test(arguments: ClientLibrary.allCases)
    func `a server that authenticates connections never confuses two users`(library: ClientLibrary) async throws {
        let sso = try await makeExtension(signedIn: ["alice", "bob"])
        let turns = Turns(sso)
        try await withClient(library, ProtectedWebServerOptions(connectionBound: true), extension: turns) { server, client in
            let request = ClientRequest(url: "\(server.url)/hello")
            for name in ["alice", "bob", "alice", "alice", "bob"] {
                turns.choose("\(name)@EXAMPLE.TEST")
                let reply = try await client.send(request)
                #expect(reply.body == "Hello \(name)@EXAMPLE.TEST\n")
                #expect(reply.field("Persistent-Auth") == "true")
                #expect(reply.delivery == .authenticated)
                let mine = try await client.send(ClientRequest(url: request.url, fields: ["Authorization": "Bearer mine"]))
                #expect(mine.status == 401)
            }
            try await sso.signOut(Principal("bob@EXAMPLE.TEST"))
            await #expect(throws: AuthorizationError.self) { try await client.send(request) }
            // Status, connection, user, request line, and the port that identifies the connection.
            var lines: [[Substring]] = []
            let isComplete = try await comesTrue {
                lines = try server.accessLog().split(separator: "\n").map { $0.split(separator: " ") }
                return lines.count == 16
            }
            #expect(isComplete)
            let users = Dictionary(grouping: lines, by: \.last).mapValues { $0.map { $0[2] } }
            #expect(users.values.allSatisfy { library.mayCarry($0.map { $0 == "-" ? nil : String($0) }) }, "\(lines)")
            // One for requests without credentials, one for alice, one for bob, one for each request with own credentials.
            if library.makesConnections { #expect(users.count == 1 + 2 + 5) }
        }
    }
}
