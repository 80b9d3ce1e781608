import Foundation
import FoundationNetworking
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import NegotiateURLSession
import Synchronization
import TestSupport
import Testing

/// The whole way, on a real KDC and a real Apache with mod_auth_gssapi.
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

    /// Runs a server, and a session that signs for alice, or with the extension given.
    private func withSession(
        _ options: ProtectedWebServerOptions = ProtectedWebServerOptions(),
        extension given: (any CredentialExtension)? = nil,
        _ body: (ProtectedWebServer, NegotiatingURLSession) async throws -> Void
    ) async throws {
        let realm = try #require(TestRealm.current)
        let credentialExtension: any CredentialExtension = if let given { given } else { try await makeExtension() }
        try await withProtectedWebServer(realm: realm, options) { server in
            let session = NegotiatingURLSession(extension: credentialExtension, unboundTLS: .allowed, configuration: settings())
            defer { session.invalidateAndCancel() }
            try await body(server, session)
        }
    }

    private func request(_ server: ProtectedWebServer, _ path: String = "/hello", method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: server.url + path)))
        request.httpMethod = method
        return request
    }

    @Test func `a signed-in user is greeted`() async throws {
        try await withSession { server, session in
            for _ in 1...2 {
                let reply = try await session.send("GET", "\(server.url)/hello")
                #expect(reply.status == 200)
                #expect(reply.body == "Hello alice@EXAMPLE.TEST\n")
                #expect(reply.delivery == .authenticated)
                #expect(reply.report.identity?.servicePrincipal.hasPrefix("HTTP/localhost") == true)
            }
            let (data, response) = try await session.data(from: try #require(URL(string: "\(server.url)/other")))
            #expect(response.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == "Other alice@EXAMPLE.TEST\n")
        }
    }

    @Test func `a page that asks for nothing gets no token`() async throws {
        try await withSession { server, session in
            let reply = try await session.send("GET", "\(server.url)/open")
            #expect(reply.delivery == .unauthenticated)
            #expect(reply.body == "open\n")
        }
    }

    @Test func `nobody is signed in`() async throws {
        try await withSession(extension: makeExtension(signedIn: [])) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", "\(server.url)/hello") }
            #expect(error?.code == .notSignedIn)
        }
    }

    @Test func `a POST, an upload and a file are sent again`() async throws {
        let realm = try #require(TestRealm.current)
        let file = URL(filePath: "\(realm.directory)/\(UUID().uuidString)")
        try Data(repeating: UInt8(ascii: "x"), count: 2_000_000).write(to: file)
        try await withSession { server, session in
            let greeting = "Hello alice@EXAMPLE.TEST\n"
            let reply = try await session.send("POST", "\(server.url)/hello", body: "name=value")
            #expect(reply.body == greeting)
            let upload = try await session.upload(for: request(server, method: "POST"), from: Data(repeating: 1, count: 300_000))
            #expect(String(decoding: upload.0, as: UTF8.self) == greeting)
            let fromFile = try await session.upload(for: request(server, method: "POST"), fromFile: file)
            #expect(String(decoding: fromFile.0, as: UTF8.self) == greeting)
        }
    }

    @Test func `a download`() async throws {
        try await withSession { server, session in
            let (file, response) = try await session.download(for: request(server))
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(response.statusCode == 200)
            #expect(try String(contentsOf: file, encoding: .utf8) == "Hello alice@EXAMPLE.TEST\n")
        }
    }

    @Test func `many tasks at once`() async throws {
        try await withSession { server, session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...40 { group.addTask { try await session.send("GET", "\(server.url)/hello").body } }
                for try await text in group { #expect(text == "Hello alice@EXAMPLE.TEST\n") }
            }
        }
    }

    /// Signs for whom it is told to, of those who are signed in.
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

    /// Apache takes every later request of a connection for the user who authenticated it: a mixed-up connection shows in the greeting.
    @Test func `a server that authenticates connections takes nobody for another`() async throws {
        let sso = try await makeExtension(signedIn: ["alice", "bob"])
        let turns = Turns(sso)
        try await withSession(ProtectedWebServerOptions(connectionBound: true), extension: turns) { server, session in
            for name in ["alice", "bob", "alice", "alice", "bob"] {
                turns.choose("\(name)@EXAMPLE.TEST")
                let reply = try await session.send("GET", "\(server.url)/hello")
                #expect(reply.body == "Hello \(name)@EXAMPLE.TEST\n")
                #expect(reply.headers["Persistent-Auth"] == "true")
                #expect(reply.delivery == .authenticated)
                let mine = try await session.send("GET", "\(server.url)/hello", headers: ["Authorization": "Bearer mine"])
                #expect(mine.status == 401)
            }
            try await sso.signOut(Principal("bob@EXAMPLE.TEST"))
            await #expect(throws: AuthorizationError.self) { try await session.send("GET", "\(server.url)/hello") }
            // Status, connection, user, request line, and the port that tells one connection from another.
            var lines: [[Substring]] = []
            let isComplete = try await comesTrue {
                lines = try server.accessLog().split(separator: "\n").map { $0.split(separator: " ") }
                return lines.count == 16
            }
            #expect(isComplete)
            let users = Dictionary(grouping: lines, by: \.last).mapValues { Set($0.map { $0[2] }) }
            #expect(users.values.allSatisfy { $0.count == 1 }, "\(lines)")
            // One for requests without credentials, one for alice, one for bob, one for each request with the user's own.
            #expect(users.count == 1 + 2 + 5)
        }
    }

    @Test func `a certificate that is not trusted here`() async throws {
        try await withSession(ProtectedWebServerOptions(usesTLS: true)) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", "\(server.url)/hello") }
            #expect(error?.code == .tls)
        }
    }
}
