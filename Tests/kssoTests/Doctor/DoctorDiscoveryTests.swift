import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// The doctor finds KDCs in URI records and through KDC proxies, in addition to SRV records.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct DoctorDiscoveryTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private static let canSimulateDNS = LoadableLibrary.resolver != nil && LoadableLibrary.nameService != nil

    /// libkrb5 signs in through the URI record, and the doctor reports this.
    @Test(.enabled(if: canSimulateDNS, "resolv_wrapper or nss_wrapper is missing: Scripts/install-packages unpacks them"))
    func `URI records take precedence over SRV records unless krb5.conf disables them`() async throws {
        let port = station.realm.kdcPort
        let records = """
            URI _kerberos.EXAMPLE.TEST krb5srv:m:tcp:kdc.example.test:\(port)
            SRV _kerberos._tcp.EXAMPLE.TEST localhost 1

            """
        var environment = try station.resolving("kdc.example.test", kdcPort: port)
        environment["RESOLV_WRAPPER_HOSTS"] = try station.write(records, to: "both")
        let login = try await station.ksso("login", "alice", "--password-stdin", "-q", input: "secret\n", environment: environment)
        #expect(login == .done(""))
        let diagnosis = try await station.doctor(environment: environment)
        #expect(diagnosis.isHealthy, "\(diagnosis)")
        let dns = try #require(diagnosis.checks.first { $0.name == "dns" })
        let ignored = "URI records, which libkrb5 reads before SRV; so it ignores localhost:1 of the SRV records"
        #expect(dns.detail == "DNS lists the KDCs of EXAMPLE.TEST: kdc.example.test:\(port) (\(ignored)).")
        let center = try #require(diagnosis.checks.first { $0.name == "kdc" })
        #expect(center.detail.hasPrefix("KDC kdc.example.test:\(port) (the URI record _kerberos.EXAMPLE.TEST): TCP in "), "\(center)")

        // If krb5.conf disables URI records, the SRV record is used, whose KDC does not exist.
        let none = try station.write("[libdefaults]\n dns_uri_lookup = false\n", to: "none.conf")
        environment["KRB5_CONFIG"] = "\(none):\(environment["KRB5_CONFIG"] ?? "")"
        let refused = try await station.ksso("login", "alice", "--force", "--password-stdin", input: "secret\n", environment: environment)
        #expect(refused.exitStatus == 6, "\(refused)")
        let first = try #require(try await station.doctor(environment: environment).firstFailure)
        #expect(first.name == "kdc" && first.detail.contains("the SRV record _kerberos._tcp.EXAMPLE.TEST"), "\(first)")
    }

    private func proxyCheck(
        _ url: String,
        in command: ([String]) -> [String] = { $0 }
    ) async throws -> DiagnosticCheck {
        try station.install(profile(data: ["preferredKDCs: [\"\(url.replacing("https:", with: "kkdcp:"))\"]"]))
        let diagnosis = try await station.doctor(in: command)
        let check = try #require(diagnosis.checks.first { $0.name == "kdc" && $0.detail.hasPrefix("KDC proxy ") }, "\(diagnosis)")
        #expect(check.detail.hasPrefix("KDC proxy \(url) (preferredKDCs of the profile)"), "\(check)")
        // Only a warning, because the KDC in krb5.conf responds.
        #expect(check.verdict == .warning, "\(check)")
        return check
    }

    @Test func `an unreachable KDC proxy is reported`() async throws {
        #expect(try await proxyCheck("https://127.0.0.1:1/KdcProxy").detail.contains(" does not answer: "))
    }

    /// The realm's KDC, whose clock the doctor reports, is reachable only through the proxy. Tickets also require libkrb5's plugin.
    @Test(.enabled(if: OwnAuthorities.arePossible, "this needs a mount namespace in which the certificate is trusted"))
    func `the doctor reaches the KDC and its clock through a KDC proxy`() async throws {
        try await withKDCProxy(realm: station.realm) { server in
            let url = server.url
            try station.install(profile(data: ["preferredKDCs: [\"\(url.replacing("https:", with: "kkdcp:"))\"]"]))
            let own = try station.write("[libdefaults]\n default_realm = EXAMPLE.TEST\n dns_lookup_kdc = false\n", to: "proxy.conf")
            let diagnosis = try await station.doctor(environment: ["KRB5_CONFIG": own]) {
                OwnAuthorities.command(trusting: server.certificatePath, $0)
            }
            let proxy = try #require(diagnosis.checks.first { $0.name == "kdc" }, "\(diagnosis)")
            #expect(proxy.detail.contains("KDC proxy \(url) (preferredKDCs of the profile): a KDC answers behind it"), "\(proxy)")
            let isInstalled = LibraryPlugin.tls.isInstalled
            #expect(proxy.verdict == (isInstalled ? .ok : .failed) && proxy.remedy == (isInstalled ? nil : "Install krb5-k5tls."))
            let clock = try #require(diagnosis.checks.first { $0.name == "clock" })
            #expect(clock.verdict == .ok, "\(clock)")
            #expect(diagnosis.checks.contains { $0.name == "account" && $0.detail == "the KDC knows alice@EXAMPLE.TEST." })
        }
    }

    /// Because libkrb5 uses KDC proxies only over TLS, the doctor sends nothing in the clear either.
    @Test func `the doctor sends nothing to a KDC proxy without TLS`() async throws {
        try await withProtectedWebServer(realm: station.realm) { server in
            let url = "\(server.url)/KdcProxy"
            try #require(url.hasPrefix("http://"))
            let own = try station.write("[realms]\n EXAMPLE.TEST = {\n kdc = \(url)\n }\n", to: "plain.conf")
            let diagnosis = try await station.doctor(environment: ["KRB5_CONFIG": "\(own):\(station.realm.configurationPath)"])
            let check = try #require(diagnosis.checks.first { $0.detail.contains(url) && $0.name == "kdc" }, "\(diagnosis)")
            #expect(check.verdict == .warning && check.detail.contains("so libkrb5 ignores it, and nothing was sent to it"), "\(check)")
            #expect(!check.detail.contains("TLS"), "\(check)")
        }
    }

    @Test func `a KDC proxy with an untrusted certificate is reported with advice on http_anchors`() async throws {
        try await withKDCProxy(realm: station.realm) { server in
            let check = try await proxyCheck(server.url)
            #expect(check.remedy?.contains("http_anchors") == true, "\(check)")
        }
    }

    @Test(.enabled(if: OwnAuthorities.arePossible, "this needs a mount namespace in which the certificate is trusted"))
    func `a web server that is not a KDC proxy is reported`() async throws {
        try await withProtectedWebServer(realm: station.realm, .init(usesTLS: true)) { server in
            let other = try await proxyCheck("\(server.url)/KdcProxy") {
                OwnAuthorities.command(trusting: server.certificatePath, $0)
            }
            #expect(
                other.detail.hasSuffix(
                    " accepts TLS connections, but does not forward messages to a KDC: it responds with status 404."
                ),
                "\(other)"
            )
            let page = try await proxyCheck("\(server.url)/open") { OwnAuthorities.command(trusting: server.certificatePath, $0) }
            #expect(page.detail.hasSuffix(" but its answer is not a KDC's message."), "\(page)")
        }
    }
}
