import Foundation
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

/// `ksso doctor` on a working set-up and with common faults, its output and its side effects.
@Suite(.protectedWeb)
struct DoctorTests {
    let station: Workstation
    let url: String

    init() throws {
        station = try Workstation()
        url = "\(try #require(WebTrait.server).url)/hello"
        try station.install(profile())
    }

    private func verdicts(_ diagnosis: Diagnosis) -> [String: DiagnosticCheck.Verdict] {
        Dictionary(diagnosis.checks.map { ($0.name, $0.verdict) }) { $1 }
    }

    @Test func `no check fails on a working set-up`() async throws {
        try await station.signIn()
        let diagnosis = try await station.doctor(url)
        #expect(diagnosis.isHealthy, "\(diagnosis)")
        let verdicts = verdicts(diagnosis)
        let good = ["profile", "configuration", "host", "name", "clock", "account", "cache", "visibility", "session", "expiry", "service"]
        for name in good + ["kdc", "keytab", "challenge", "token", "mutualAuthentication"] { #expect(verdicts[name] == .ok, "\(name)") }
        #expect(verdicts["dns"] == .skipped)
    }

    /// The layers are checked in the order in which a sign-on uses them.
    @Test func `the checks run in the documented order`() async throws {
        try await station.signIn()
        let names = try await station.doctor(url).checks.map(\.name)
        #expect(
            names == [
                "profile", "configuration", "host", "name", "dns", "kdc", "clock", "account", "cache", "visibility", "session", "expiry",
                "service", "keytab", "challenge", "token", "mutualAuthentication", "browser", "git",
                "proxy",
            ]
        )
        let page = try String(contentsOfFile: repositoryFile("Sources/KerberosSSO/KerberosSSO.docc/Checks.md"), encoding: .utf8)
        let documented = page.matches(of: /(?m)^\| `(\w+)`/).map { String($0.output.1) }
        // Nothing is said about the sites and the directory of a realm that is not an Active Directory domain, and about a
        // certificate if none is named.
        #expect(documented.filter { !["site", "certificate", "directory"].contains($0) } == names)
        #expect(documented.starts(with: ["profile", "configuration", "host", "name", "dns", "site", "kdc"]))
    }

    private static let expiries: [(flag: String, keys: [String], verdict: DiagnosticCheck.Verdict, words: [String])] = [
        ("-pwexpire never", [], .ok, ["The password's expiration date is unknown."]),
        ("-pwexpire \"60 days\"", [], .ok, ["The password expires on ", " (59 d left)."]),
        ("-pwexpire \"60 days\"", ["pwNotificationDays: 90"], .warning, ["The password expires on "]),
        ("-pwexpire \"3 days\"", [], .warning, ["The password expires on ", " (2 d left)."]),
        ("-pwexpire \"3 days\"", ["performKerberosOnly: true"], .ok, ["The password expires on "]),
    ]

    /// An unknown expiration date is not reported as one in the past.
    @Test(arguments: expiries)
    func `the doctor warns of a password that expires within pwNotificationDays`(
        _ expiry: (flag: String, keys: [String], verdict: DiagnosticCheck.Verdict, words: [String])
    ) async throws {
        let user = "user\(UUID().uuidString.prefix(8))"
        try await station.realm.addUser(user, password: "secret", flags: [expiry.flag])
        try station.install(profile(data: expiry.keys + ["principalName: \(user)"]))
        try await station.signIn(user)
        let check = try #require(try await station.doctor().checks.first { $0.name == "expiry" })
        #expect(check.verdict == expiry.verdict && expiry.words.allSatisfy(check.detail.contains), "\(check)")
        #expect(check.detail.hasPrefix("the ticket is valid until "), "\(check)")
        #expect(check.remedy == (expiry.verdict == .ok ? nil : "Change it with: ksso passwd \(user)@EXAMPLE.TEST"))
    }

    @Test func `the doctor changes neither the credential cache nor the account`() async throws {
        try await station.signIn()
        let cache = try Data(contentsOf: URL(fileURLWithPath: "\(station.directory)/cache"))
        #expect(try await station.doctor(url).isHealthy)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(station.directory)/cache")) == cache)
        #expect(try await station.realm.failedAttempts(of: "alice") == 0)
    }

    @Test func `the text output lists the checks with their remedies and ends with the first failure`() async throws {
        let result = try await station.ksso("doctor", "EXAMPLE.TEST")
        #expect(result.exitStatus == 1)
        #expect(result.errors == "")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.contains("✓ account: the KDC knows alice@EXAMPLE.TEST."))
        let failure = try #require(lines.firstIndex(of: "✗ session: no principal of EXAMPLE.TEST is signed in."))
        #expect(lines[failure + 1] == "    Sign in: ksso login")
        #expect(lines.last == "The check session failed: no principal of EXAMPLE.TEST is signed in.")
        #expect(!result.output.contains("challenge"))
    }

    @Test func `a host that no profile covers fails the host check`() async throws {
        try await station.signIn()
        let first = try #require(try await station.doctor("https://elsewhere.example.test/").firstFailure)
        #expect(first.name == "host")
        #expect(first.detail.contains("elsewhere.example.test is not answered"))
        #expect(first.detail.hasSuffix("add it to Hosts of \(station.directory)/config/ksso/test.yaml."), "\(first)")
    }

    @Test func `without a profile a URL fails the profile check`() async throws {
        let station = try Workstation()
        let diagnosis = try await station.doctor(url)
        #expect(diagnosis.firstFailure?.name == "profile", "\(diagnosis)")
        #expect(verdicts(diagnosis)["host"] == .skipped, "\(diagnosis)")
    }

    @Test func `a --profile file that does not exist fails the profile check`() async throws {
        let first = try #require(try await station.doctor("--profile", "/nonexistent.yaml").firstFailure)
        #expect(first.name == "profile")
        #expect(first.detail.contains("/nonexistent.yaml"))
    }

    @Test(arguments: ["[libdefaults\n", "[realms]\n }\n"]) func `a krb5.conf with a syntax error fails the configuration check`(
        text: String
    ) async throws {
        let path = try station.write(text, to: "broken.conf")
        let first = try #require(try await station.doctor(environment: ["KRB5_CONFIG": path]).firstFailure)
        #expect(first.name == "configuration", "\(first)")
        #expect(first.detail.contains("krb5.conf is invalid"))
    }

    @Test func `a clock difference that libkrb5 corrects causes only a warning`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(-3630))) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await station.signIn()
            let diagnosis = try await station.doctor()
            #expect(diagnosis.isHealthy && verdicts(diagnosis)["clock"] == .warning, "\(diagnosis)")
        }
    }

    @Test func `login, status and the doctor print the same times, by this machine's clock`() async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], clockOffset: .seconds(2400))
        try await withTestRealm(options) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            let before = Date()
            let arguments = ["ksso", "login", "alice", "--password-stdin", "--lifetime", "2h", "--renewable", "3h"]
            let login = try await station.run(arguments, input: "secret\n")
            #expect(try await station.run(["kvno", "HTTP/localhost"]).exitStatus == 0)
            let session = try #require(try await station.status().sessions.first)
            #expect((-5...120).contains(session.ticketExpires.timeIntervalSince(before) - 7200), "\(session)")
            let limit = try #require(session.renewUntil)
            #expect((-5...120).contains(limit.timeIntervalSince(before) - 10_800), "\(session)")
            #expect(session.services.map(\.expires) == [session.ticketExpires])
            let expiry = try #require(try await station.doctor().checks.first { $0.name == "expiry" })
            let status = try await station.ksso("status")
            let texts = [login.output + login.errors, status.output, expiry.detail].map { text in
                text.firstMatch(of: /until ([0-9 :-]* \+0000)/).map { String($0.output.1) }
            }
            let end = session.ticketExpires.formatted(.iso8601.dateTimeSeparator(.space)).replacing("Z", with: " +0000")
            #expect(texts == [end, end, end])
        }
    }

    @Test func `the expiry check prints times by this machine's clock and reports the KDC's offset`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(-3630))) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            let login = ["login", "alice", "--password-stdin", "--lifetime", "2h", "--renewable", "3h"]
            let before = Date()
            #expect(try await station.run(["ksso"] + login, input: "secret\n").exitStatus == 0)
            let check = try #require(try await station.doctor().checks.first { $0.name == "expiry" })
            let texts = check.detail.matches(of: /until ([0-9 :-]* \+0000)/).map { String($0.output.1) }
            let dates = texts.compactMap { try? Date($0.replacing(" +0000", with: "Z"), strategy: .iso8601.dateTimeSeparator(.space)) }
            #expect(dates.count == 2, "\(check)")
            for (date, hours) in zip(dates, [2.0, 3.0]) {
                let difference = date.timeIntervalSince(before) - hours * 3600
                #expect((-5...120).contains(difference), "\(check)")
            }
            #expect(check.detail.contains("These times are by this machine's clock; the KDC's clock was 36"), "\(check)")
        }
    }

    /// The limit of 30 seconds is for the whole command, and has a margin for slow machines.
    @Test func `a suspended agent is reported, and the checks that need it are skipped`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await station.withAgent { agent in
                try await station.signIn()
                try await suspend(pid_t(agent.process))
                defer { kill(pid_t(agent.process), SIGCONT) }
                let start = ContinuousClock.now
                let diagnosis = try await station.doctor(environment: Workstation.usualPatience)
                #expect(start.duration(to: .now) < .seconds(30))
                let cache = try #require(diagnosis.checks.first { $0.name == "cache" })
                let remedy =
                    "The agent (process \(agent.process)) does not respond: it is suspended. Resume it with: kill -CONT \(agent.process); "
                    + "or stop it with: ksso agent stop"
                #expect(cache.verdict == .failed && cache.remedy == remedy, "\(cache)")
                for name in ["visibility", "session", "expiry"] { #expect(verdicts(diagnosis)[name] == .skipped) }
            }
        }
    }

    /// Both accept connections and never respond.
    @Test func `the doctor finishes if neither the KDC nor the server responds`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await station.signIn()
            try await realm.pauseKDC()
            try await ScriptedServer.run({ _ in .silence }) { server in
                let diagnosis = try await station.doctor("http://localhost:\(server.port)/", environment: Workstation.usualPatience)
                let verdicts = verdicts(diagnosis)
                #expect(diagnosis.firstFailure?.name == "kdc")
                #expect(verdicts["challenge"] == .failed)
                #expect(verdicts["session"] == .ok)
                let token = try #require(diagnosis.checks.first { $0.name == "token" })
                #expect(token.verdict == .skipped && token.detail == "the server was not reached.", "\(token)")
            }
        }
    }

    /// If only DNS lists the KDC, ksso and libkrb5 find the same one.
    @Test(
        .enabled(
            if: LoadableLibrary.resolver != nil && LoadableLibrary.nameService != nil,
            "resolv_wrapper or nss_wrapper is missing: Scripts/install-packages unpacks them"
        )
    )
    func `a KDC that only DNS lists is used by a sign-in and found by the doctor`() async throws {
        let environment = try station.resolving("kdc.example.test", kdcPort: station.realm.kdcPort)
        let login = try await station.ksso("login", "alice", "--password-stdin", "-q", input: "secret\n", environment: environment)
        #expect(login == .done(""))
        let diagnosis = try await station.doctor(environment: environment)
        #expect(diagnosis.isHealthy, "\(diagnosis)")
        let dns = try #require(diagnosis.checks.first { $0.name == "dns" })
        #expect(dns.verdict == .ok)
        #expect(dns.detail == "DNS lists the KDCs of EXAMPLE.TEST: kdc.example.test:\(station.realm.kdcPort).")
        #expect(verdicts(diagnosis)["kdc"] == .ok)
    }
}
