import Foundation
import KerberosTesting
import TestSupport
import Testing

extension Workstation {
    /// Makes a KDC proxy the only way to the KDC: the profile names it, and krb5.conf names no KDC.
    ///
    /// - Parameters:
    ///   - host: The host in the profile.
    ///   - isTrusted: Whether krb5.conf names the authority of the proxy's certificate.
    /// - Returns: The environment for `ksso`.
    func use(_ proxy: KDCProxy, host: String = "localhost", isTrusted: Bool = true) throws -> [String: String] {
        let place = proxy.url.replacing("https://localhost:", with: "kkdcp://\(host):")
        try install(profile(realm: realm.name, data: ["preferredKDCs: ['\(place)']"]))
        let path = try write(proxy.configurationWithoutKDC(isTrusted: isTrusted), to: "proxy.conf")
        return ["KRB5_CONFIG": path]
    }
}

extension KDCProxy {
    /// Its krb5.conf without the line that names the proxy, for a client whose profile does.
    func configurationWithoutKDC(isTrusted: Bool = true) throws -> String {
        let lines = try String(contentsOfFile: configurationPath, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { !$0.contains("kdc = ") && (isTrusted || !$0.contains("http_anchors")) }.joined(separator: "\n")
    }
}

/// `ksso login` through a KDC proxy (MS-KKDCP) that the profile names.
@Suite(.enabled(if: LoadableLibrary.kdcProxyPlugins != nil, "krb5-k5tls is missing: Scripts/install-packages unpacks it"))
struct KDCProxyLoginTests {
    private func withProxy(_ body: (Workstation, KDCProxy) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], pluginDirectory: LoadableLibrary.kdcProxyPlugins)
        try await withTestRealm(options) { realm in
            try await withKDCProxy(realm: realm) { try await body(try Workstation(realm: realm), $0) }
        }
    }

    private func login(_ station: Workstation, _ environment: [String: String]) async throws -> CommandResult {
        try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
    }

    @Test func `a profile's KDC proxy signs in, renews and issues service tickets`() async throws {
        try await withProxy { station, proxy in
            let environment = try station.use(proxy)
            let result = try await login(station, environment)
            #expect(result.exitStatus == 0 && result.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(result)")
            let renewed = try await station.ksso("refresh", environment: environment)
            #expect(renewed.exitStatus == 0, "\(renewed)")
            let wrong = try await station.ksso("login", "alice", "--force", "--password-stdin", input: "x\n", environment: environment)
            #expect(wrong.exitStatus == 1 && wrong.errors.contains("the password is wrong"), "\(wrong)")
        }
    }

    @Test func `a proxy whose certificate is not trusted is refused, and the message says so`() async throws {
        try await withProxy { station, proxy in
            let result = try await login(station, try station.use(proxy, isTrusted: false))
            #expect(result.exitStatus == 6, "\(result)")
            let sentence = "the certificate of the KDC proxy is refused, so nothing was sent to it (self"
            #expect(result.errors.contains(sentence) && result.errors.contains("http_anchors"), "\(result)")
        }
    }

    @Test func `a proxy whose certificate is for another host is refused, and the message names the host`() async throws {
        try await withProxy { station, proxy in
            let result = try await login(station, try station.use(proxy, host: "127.0.0.1"))
            #expect(result.exitStatus == 6, "\(result)")
            #expect(
                result.errors.contains("the certificate of the KDC proxy is not for 127.0.0.1, so nothing was sent to it."),
                "\(result)"
            )
        }
    }

    @Test(arguments: [false, true])
    func `-vv shows the trace, and the reason of a refusal`(isTrusted: Bool) async throws {
        try await withProxy { station, proxy in
            let environment = try station.use(proxy, isTrusted: isTrusted)
            let words = ["ksso", "login", "alice", "--password-stdin", "-vv"]
            let result = try await station.run(words, input: "secret\n", environment: environment)
            #expect((result.exitStatus == 0) == isTrusted, "\(result)")
            #expect(result.errors.contains("krb5: ") && result.errors.contains("TLS certificate"), "\(result)")
            #expect(result.errors.contains("the certificate of the KDC proxy is refused") == !isTrusted, "\(result)")
        }
    }
}

extension TestDomainOptions {
    fileprivate static let behindProxy = TestDomainOptions(users: [.init("alice", password: "Secret-1x")], services: ["HTTP/localhost"])
}

/// A KDC proxy in front of a domain controller.
@Suite(
    .needsDomain,
    .testDomain(.behindProxy),
    .enabled(if: LoadableLibrary.kdcProxyPlugins != nil, "krb5-k5tls is missing: Scripts/install-packages unpacks it")
)
struct DomainProxyTests {
    @Test func `a KDC proxy in front of a domain controller signs in and issues service tickets`() async throws {
        let domain = try #require(TestDomainTrait.current)
        let station = try Workstation(realm: domain.realm)
        let plugins = LoadableLibrary.kdcProxyPlugins
        try await withKDCProxy(realm: domain.realm, kdc: (domain.address, 88), pluginDirectory: plugins) { proxy in
            let environment = try station.use(proxy)
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "Secret-1x\n", environment: environment)
            #expect(login.exitStatus == 0 && login.output.hasPrefix("alice@AD.TEST is signed in until "), "\(login)")
            let ticket = try await station.run(["kvno", "HTTP/localhost"], environment: environment)
            #expect(ticket.exitStatus != 0, "the stock program has no KDC: \(ticket)")
            let header = try await station.ksso("header", "https://localhost/", environment: environment)
            #expect(header.exitStatus == 0, "\(header)")
        }
    }
}
