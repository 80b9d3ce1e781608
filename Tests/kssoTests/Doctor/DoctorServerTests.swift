import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// The doctor's checks of servers, programs and caches, in addition to the causes of ``BrokenSetUp``.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct DoctorServerTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func diagnose(
        _ arguments: String...,
        environment: [String: String] = [:],
        of station: Workstation? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Diagnosis {
        try await (station ?? self.station).doctor(
            environment: environment,
            in: { $0 + arguments },
            sourceLocation: sourceLocation
        )
    }

    private func check(_ name: String, _ diagnosis: Diagnosis) throws -> DiagnosticCheck {
        try #require(diagnosis.checks.first { $0.name == name }, "\(diagnosis)")
    }

    @Test func `a missing mutual authentication token fails the mutualAuthentication check`() async throws {
        try await station.signIn()
        try await withAcceptorServer(realm: station.realm, .init(finalToken: .dropped)) { server in
            let diagnosis = try await diagnose("\(server.url)/")
            #expect(try check("token", diagnosis).verdict == .ok)
            #expect(diagnosis.firstFailure?.name == "mutualAuthentication")
            #expect(diagnosis.firstFailure?.remedy?.contains("OptionalMutualAuthenticationHosts") == true)
        }
    }

    @Test func `a port that speaks plain http is not taken for a proxy that intercepts TLS`() async throws {
        try await station.signIn()
        try await ScriptedServer.run({ _ in .closing(200, body: "plain\n") }) { server in
            let path = "secret/page?token=secret#part"
            let first = try #require(try await diagnose("https://user:secret@localhost:\(server.port)/\(path)").firstFailure)
            #expect(first.name == "challenge")
            #expect(first.detail == "https://localhost:\(server.port): this port speaks plain http, not https.")
            #expect(first.remedy?.contains("Only if you know that the server has no TLS, use http://") == true, "\(first)")
            // The first connection begins with a TLS record, which is no request.
            let requests = server.requests.filter { $0.method == "GET" }
            #expect(requests.map(\.target) == ["/"], "\(requests)")
            #expect(requests.allSatisfy { !$0.head.contains("secret") && $0.field("Authorization") == nil }, "\(requests)")
        }
    }

    @Test(arguments: [
        ("oRQwEqADCgEAoQsGCSqGSIb3EgECAg==", "OptionalMutualAuthenticationHosts"), ("bm90IGEgdG9rZW4=", "NoMutualAuthenticationHosts"),
    ])
    func `an invalid mutual authentication token is reported with the profile key that helps`(token: String, key: String) async throws {
        try await station.signIn()
        let bytes = Array(try #require(Data(base64Encoded: token)))
        try await withAcceptorServer(realm: station.realm, .init(finalToken: .replaced(bytes))) { server in
            let diagnosis = try await diagnose("\(server.url)/")
            #expect(try check("token", diagnosis).verdict == .ok)
            let first = try #require(diagnosis.firstFailure)
            #expect(first.name == "mutualAuthentication", "\(first)")
            #expect(first.remedy?.contains(" \(key) ") == true, "\(first)")
        }
    }

    @Test func `a SPNEGO reject fails the token check and skips the mutualAuthentication check`() async throws {
        try await station.signIn()
        let reject = Array(try #require(Data(base64Encoded: "oQcwBaADCgEC")))
        let options = AcceptorServerOptions(finalToken: .replaced(reject), answer: { $0.initiator == nil ? .negotiated : .status(401) })
        try await withAcceptorServer(realm: station.realm, options) { server in
            let diagnosis = try await diagnose("\(server.url)/")
            let first = try #require(diagnosis.firstFailure)
            #expect(first.name == "token", "\(first)")
            #expect(first.detail.contains("rejected the ticket"), "\(first)")
            #expect(try check("mutualAuthentication", diagnosis).verdict == .skipped)
        }
    }

    /// Only the server knows the reason: its clock is right, and its keytab is not on this machine.
    @Test func `a server with another key fails the token check with advice to check the keytab`() async throws {
        try await station.signIn()
        _ = try await station.realm.kadmin(["add_principal", "-randkey", "HTTP/other.example.test"])
        let keytab = try await station.realm.keytab(for: "HTTP/other.example.test")
        try await withAcceptorServer(realm: station.realm, .init(keytab: keytab)) { server in
            let diagnosis = try await diagnose("\(server.url)/", environment: ["KRB5_KTNAME": "\(station.directory)/none"])
            #expect(try check("keytab", diagnosis).verdict == .skipped)
            let first = try #require(diagnosis.firstFailure)
            #expect(first.name == "token", "\(first)")
            #expect(first.remedy?.contains("ksso doctor --keytab FILE URL") == true)
        }
    }

    /// The server's key was changed, and its keytab contains only the new one.
    @Test func `a cached ticket older than the server's key is reported with the command to replace it`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await station.signIn()
            try await withProtectedWebServer(realm: realm) { server in
                let page = "\(server.url)/hello"
                #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
                #expect(try check("service", try await diagnose(page, of: station)).verdict == .ok)
                try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
                let warning = try check("service", try await diagnose(page, of: station))
                #expect(warning.verdict == .warning && warning.detail.contains("is from before the change"), "\(warning)")
                #expect(warning.remedy?.hasSuffix("ksso fetch \(page)") == true, "\(warning)")
                #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
                #expect(try check("service", try await diagnose(page, of: station)).verdict == .ok)
            }
        }
    }

    @Test func `a page that requires no sign-in causes a warning, and no token is sent`() async throws {
        try await station.signIn()
        try await ScriptedServer.run({ _ in .closing(200, body: "open\n") }) { server in
            let diagnosis = try await diagnose("http://localhost:\(server.port)/")
            #expect(diagnosis.isHealthy, "\(diagnosis)")
            #expect(try check("challenge", diagnosis).verdict == .warning)
            #expect(try check("token", diagnosis).verdict == .skipped)
            // The doctor acquired a ticket but did not send it.
            #expect(try check("service", diagnosis).verdict == .ok)
            #expect(server.requests.allSatisfy { $0.field("Authorization") == nil })
        }
    }

    @Test func `a proxy that removes the challenge is reported`() async throws {
        try await station.signIn()
        try await withProtectedWebServer(realm: station.realm) { server in
            try await StockApache.with(StockApache.removesChallenges(before: server.port), on: station) { port in
                let first = try #require(try await diagnose("http://localhost:\(port)/hello").firstFailure)
                #expect(first.name == "challenge", "\(first)")
                #expect(first.detail.contains("does not offer Negotiate: it offers nothing."), "\(first)")
                #expect(first.detail.contains("The response came through a proxy (Via: 1.1 gate"), "\(first)")
            }
        }
    }

    @Test(.enabled(if: LoadableLibrary.nameService != nil, "nss_wrapper is missing: Scripts/install-packages unpacks it"))
    func `a host name without an address fails the name check`() async throws {
        try station.install(profile(hosts: ["nowhere.example.test"]))
        try await station.signIn()
        let environment = [
            "LD_PRELOAD": LoadableLibrary.nameService?.path ?? "", "NSS_WRAPPER_DISABLE_DEEPBIND": "1",
            "NSS_WRAPPER_HOSTS": try station.write("127.0.0.1 localhost\n", to: "hosts"),
        ]
        let diagnosis = try await diagnose("http://nowhere.example.test:9/", environment: environment)
        let first = try #require(diagnosis.firstFailure)
        #expect(first.name == "name" && first.detail.contains("nowhere.example.test"), "\(first)")
    }

    @Test func `a Negotiate challenge with an NTLM token is reported as NTLM`() async throws {
        let fields = [("WWW-Authenticate", "Negotiate TlRMTVNTUAACAAAA")]
        try await ScriptedServer.run({ _ in .closing(401, fields) }) { server in
            let challenge = try check("challenge", try await diagnose("http://localhost:\(server.port)/"))
            #expect(challenge.verdict == .failed)
            #expect(challenge.detail.contains("requires NTLM: its Negotiate token begins with NTLMSSP"))
        }
    }

    @Test(arguments: [
        ("Negotiate f!sh", "cannot be parsed: "), ("Negotiate fish", "first Negotiate challenge carries a token"),
        ("negotiate aGVsbG8=", "first Negotiate challenge carries a token"),
    ])
    func `a malformed or premature Negotiate challenge fails the challenge check`(field: String, detail: String) async throws {
        try await station.signIn()
        try await ScriptedServer.run({ _ in .closing(401, [("WWW-Authenticate", field)]) }) { server in
            let diagnosis = try await diagnose("http://localhost:\(server.port)/")
            let challenge = try check("challenge", diagnosis)
            #expect(challenge.verdict == .failed)
            #expect(challenge.detail.contains(detail), "\(challenge)")
            #expect(try check("token", diagnosis).verdict == .skipped)
        }
    }

    @Test func `a profile that covers a top-level domain gets a warning`() async throws {
        try station.install(profile(hosts: ["localhost", ".com"]))
        let checks = try await diagnose().checks.filter { $0.name == "profile" }
        #expect(checks.map(\.verdict) == [.warning, .ok], "\(checks)")
        #expect(checks.first?.detail.contains(".com covers the domains of every organization under it") == true, "\(checks)")
    }

    @Test func `a realm in lower case gets a warning`() async throws {
        try station.install(profile(realm: "example.test"))
        let warning = try #require(try await diagnose().checks.first { $0.name == "profile" })
        #expect(warning.verdict == .warning && warning.detail.contains("check whether EXAMPLE.TEST is meant"), "\(warning)")
    }

    @Test func `a browser whose policy does not allow the host causes a warning`() async throws {
        let path = try station.write("#!/bin/sh\n", to: "bin/chromium")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let browser = try check("browser", try await diagnose("http://localhost:9/"))
        #expect(browser.verdict == .warning)
        let sentence = "Chromium: no policy in /etc/chromium/policies/managed allows localhost, so the browser sends no ticket."
        #expect(browser.detail.contains(sentence), "\(browser)")
        #expect(browser.remedy?.contains("ksso configure chromium --install") == true, "\(browser)")
    }

    @Test(.enabled(if: StockProgram.isInstalled("git"), "git is not installed"))
    func `the doctor warns if git would ask for a user name`() async throws {
        let git = try check("git", try await diagnose("http://localhost/"))
        #expect(git.verdict == .warning && git.remedy == "ksso configure git --install", "\(git)")
        #expect(git.detail == "http.emptyAuth is not set for http://localhost, so git asks for a user name.")
        #expect(try await station.ksso("configure", "git", "--user", "--install").exitStatus == 0)
        let after = try check("git", try await diagnose("http://localhost/"))
        #expect(after.verdict == .ok && after.detail == "the settings allow the host.", "\(after)")
        // git's sections apply to one port.
        let port = try check("git", try await diagnose("http://localhost:9/"))
        #expect(port.remedy == "git config --global http.http://localhost:9.emptyAuth true", "\(port)")
    }

    @Test func `an unknown principal is only a warning if it is derived from the user name`() async throws {
        let account = try check("account", try await diagnose(environment: ["USER": "nobody"]))
        #expect(account.verdict == .warning)
        #expect(account.detail.hasPrefix("nobody@EXAMPLE.TEST: the KDC does not know this principal"))
    }

    /// The agent has the tickets, but programs with this environment use another cache.
    @Test func `the doctor warns if other programs do not see the agent's tickets`() async throws {
        try await station.withAgent { _ in
            try await station.signIn()
            let diagnosis = try await diagnose()
            #expect(diagnosis.isHealthy, "\(diagnosis)")
            #expect(try check("cache", diagnosis).detail.contains("KCM:"))
            let visibility = try check("visibility", diagnosis)
            #expect(visibility.verdict == .warning)
            #expect(visibility.detail.contains(station.cache))
            #expect(visibility.remedy?.hasPrefix("Configure the session: ksso configure session --install\n") == true, "\(visibility)")
            // This shell was started before.
            #expect(try await station.ksso("configure", "session", "--install").exitStatus == 0)
            let again = try check("visibility", try await diagnose())
            #expect(again.verdict == .warning)
            #expect(again.remedy?.hasPrefix("The session is configured, but this shell does not use it: log out and in again.\n") == true)
            #expect(again.remedy?.contains("--install") == false && again.remedy?.contains("configure session --check") == true, "\(again)")
        }
    }

    @Test func `the doctor warns of the socket that a killed agent left`() async throws {
        try await station.signIn()
        try await station.leaveAKilledAgent()
        let cache = try check("cache", try await diagnose())
        #expect(cache.verdict == .warning)
        #expect(cache.detail.contains("\(station.runtime)/kcm.sock is left over"))
    }
}
