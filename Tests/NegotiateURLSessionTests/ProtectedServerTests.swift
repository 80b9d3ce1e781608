import Foundation
import FoundationNetworking
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import NegotiateURLSession
import SignOnPolicy
import TestSupport
import Testing

/// Complete requests with URLSession, a real KDC and a real Apache with mod_auth_gssapi.
@Suite(.testRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"]))
struct ProtectedServerTests {
    private func makeExtension() async throws -> KerberosExtension {
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
        try await sso.signIn("alice", using: .password(Secret("alice-secret")))
        return sso
    }

    /// Runs a server, and a session that authenticates as alice.
    private func withSession(_ body: (ProtectedWebServer, NegotiatingURLSession) async throws -> Void) async throws {
        let realm = try #require(TestRealm.current)
        let credentialExtension = try await makeExtension()
        try await withProtectedWebServer(realm: realm) { server in
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

    @Test func `uploads from memory and from a file authenticate at Apache`() async throws {
        let realm = try #require(TestRealm.current)
        let file = URL(filePath: "\(realm.directory)/\(UUID().uuidString)")
        try Data(repeating: UInt8(ascii: "x"), count: 2_000_000).write(to: file)
        try await withSession { server, session in
            let greeting = "Hello alice@EXAMPLE.TEST\n"
            let upload = try await session.upload(for: request(server, method: "POST"), from: Data(repeating: 1, count: 300_000))
            #expect(String(decoding: upload.0, as: UTF8.self) == greeting)
            let fromFile = try await session.upload(for: request(server, method: "POST"), fromFile: file)
            #expect(String(decoding: fromFile.0, as: UTF8.self) == greeting)
        }
    }

    @Test func `data(from:) authenticates at Apache`() async throws {
        try await withSession { server, session in
            let (data, response) = try await session.data(from: try #require(URL(string: "\(server.url)/other")))
            #expect(response.statusCode == 200)
            #expect(String(decoding: data, as: UTF8.self) == "Other alice@EXAMPLE.TEST\n")
        }
    }

    @Test func `a download authenticates at Apache`() async throws {
        try await withSession { server, session in
            let (file, response) = try await session.download(for: request(server))
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(response.statusCode == 200)
            #expect(try String(contentsOf: file, encoding: .utf8) == "Hello alice@EXAMPLE.TEST\n")
        }
    }
}
