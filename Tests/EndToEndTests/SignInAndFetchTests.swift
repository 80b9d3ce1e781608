import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOCore
import NIOHTTP1
import NIOSSL
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// The main use case: sign in at a real KDC and fetch a page from a real Apache, with a Mac's profile.
@Suite(.testRealm(users: ["alice": "alice-secret", "bob": "bob-secret"], services: ["HTTP/localhost", "app"]))
struct SignInAndFetchTests {
    private func withClient<Value>(
        credential: SingleSignOn.ServiceCredential = .sessions,
        usesTLS: Bool = false,
        profile path: String? = nil,
        cache: String = UUID().uuidString,
        _ body: (TestRealm, SingleSignOn, NegotiatingHTTPClient, String) async throws -> Value
    ) async throws -> Value {
        let realm = try #require(TestRealm.current)
        return try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(usesTLS: usesTLS)) { server in
            var settings = SingleSignOn.Settings()
            settings.base = .files([realm.configurationPath])
            settings.defaultCacheName = "FILE:\(realm.directory)/\(cache)"
            settings.environment = ["KSSO_RUNTIME_DIR": "\(realm.directory)/runtime-\(cache)"]
            let sso = try await SingleSignOn(
                .inProcess(try path.map(Profile.init(contentsOf:)) ?? Self.profile(), credential: credential),
                settings: settings
            )
            var configuration = NegotiatingHTTPClient.Configuration()
            if usesTLS {
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(server.certificatePath))
                configuration.connections.tlsConfiguration = tls
            }
            return try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { http in
                try await body(realm, sso, http, server.url)
            }
        }
    }

    private static func profile() throws -> Profile {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try Profile(contentsOf: root.appending(path: "krb5/example.mobileconfig").path)
    }

    private func text(_ response: HTTPClientResponse) async throws -> String {
        String(buffer: try await response.body.collect(upTo: 1 << 16))
    }

    @Test func `a signed-in user gets the protected page`() async throws {
        try await withClient { _, sso, http, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            let response = try await http.execute(HTTPClientRequest(url: "\(url)/hello"))
            #expect(response.status == .ok)
            #expect(try await text(response) == "Hello alice@EXAMPLE.TEST\n")
        }
    }

    @Test func `one call creates the header for another HTTP client`() async throws {
        try await withClient { _, sso, _, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            var request = HTTPClientRequest(url: "\(url)/hello")
            let page = try #require(URL(string: request.url))
            request.headers.add(name: "Authorization", value: try await sso.authorizationHeader(for: page))
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            #expect(response.status == .ok)
            #expect(try await text(response) == "Hello alice@EXAMPLE.TEST\n")
            let uncovered = try #require(URL(string: "https://www.other.test/"))
            let error = await #expect(throws: AuthorizationError.self) { try await sso.authorizationHeader(for: uncovered) }
            #expect(error?.code == .notHandled)
        }
    }

    @Test func `an unchanged Mac profile is used over HTTPS and not over plain HTTP`() async throws {
        let profile = try #require(Bundle.module.path(forResource: "corp", ofType: "mobileconfig", inDirectory: "Fixtures"))
        try await withClient(usesTLS: true, profile: profile) { _, sso, http, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            let response = try await http.execute(HTTPClientRequest(url: "\(url)/hello"))
            #expect(response.status == .ok)
            #expect(try await text(response) == "Hello alice@EXAMPLE.TEST\n")
        }
        try await withClient(profile: profile) { _, sso, http, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            let answer = try await http.negotiate(HTTPClientRequest(url: "\(url)/hello"))
            #expect(answer.response.status == .unauthorized, "plain HTTP is not answered without PlainHTTPHosts")
            #expect(answer.delivery == .unauthenticated)
        }
    }

    @Test func `a page without a challenge gets no token`() async throws {
        try await withClient { _, sso, http, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            let answer = try await http.negotiate(HTTPClientRequest(url: "\(url)/open"))
            #expect(answer.delivery == .unauthenticated)
            #expect(try await text(answer.response) == "open\n")
        }
    }

    @Test func `a request without a session throws a not-signed-in error`() async throws {
        try await withClient { _, _, http, url in
            let error = await #expect(throws: AuthorizationError.self) { try await http.execute(HTTPClientRequest(url: "\(url)/hello")) }
            #expect(error?.code == .notSignedIn)
        }
    }

    @Test func `after a sign-out the protected page is not available`() async throws {
        try await withClient { _, sso, http, url in
            try await sso.signIn("alice", using: .password(Secret("alice-secret")))
            #expect(try await http.execute(HTTPClientRequest(url: "\(url)/hello")).status == .ok)
            try await sso.signOutAll()
            await #expect(throws: AuthorizationError.self) { try await http.execute(HTTPClientRequest(url: "\(url)/hello")) }
        }
    }

    @Test func `concurrent tasks share one ticket request`() async throws {
        // The test needs its own realm because it counts the requests in the log.
        try await withTestRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"]) { _ in
            try await withClient { realm, sso, http, url in
                try await sso.signIn("alice", using: .password(Secret("alice-secret")))
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<40 { group.addTask { try await http.execute(HTTPClientRequest(url: "\(url)/hello")).status == .ok } }
                    for try await isGreeted in group { #expect(isGreeted) }
                }
                let issued = try realm.log().split(separator: "\n").filter { $0.contains("TGS_REQ") && $0.contains("ISSUE") }
                #expect(issued.count == 1)
            }
        }
    }

    @Test func `a ticket refused after a key change is reported with the probable reason`() async throws {
        try await withTestRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"]) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                var settings = SingleSignOn.Settings()
                settings.base = .files([realm.configurationPath])
                settings.defaultCacheName = "FILE:\(realm.directory)/cache"
                let sso = try await SingleSignOn(.inProcess(try Self.profile()), settings: settings)
                try await sso.signIn("alice", using: .password(Secret("alice-secret")))
                _ = try await realm.kadmin(["change_password", "-randkey", "HTTP/localhost"])  // Apache's keytab is now old
                try await NegotiatingHTTPClient.withClient(extension: sso) { http in
                    let answer = try await http.negotiate(HTTPClientRequest(url: "\(server.url)/hello"))
                    #expect(answer.response.status == .unauthorized)
                    guard case .refused(let reason) = answer.delivery else {
                        Issue.record("\(answer.delivery) is not a refusal")
                        return
                    }
                    #expect(reason.contains("keytab may be older"))
                }
            }
        }
    }
}
