import Foundation
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

private let password = "Secret-1x"

extension TestDomainOptions {
    fileprivate static let withAccounts: TestDomainOptions = {
        var options = TestDomainOptions(
            users: [
                .init("alice", password: password, attributes: ["homeDirectory": #"\\files\home\alice"#]),
                .init("bob", password: password), .init("carol", password: password), .init("dave", password: password),
                .init("erin", password: password), .init("never", password: password, attributes: ["userAccountControl": "66048"]),
                .init("frank", password: password), .init("strict", password: password), .init("gone", password: password),
            ],
            sites: ["Berlin": ["127.0.0.0/8"], "Paris": []]
        )
        options.attributes = ["lockoutThreshold": "3", "minPwdLength": "9", "minPwdAge": "-864000000000"]
        options.entries = [
            .init(
                "CN=Ten days,CN=Password Settings Container,CN=System",
                [
                    "objectClass": ["msDS-PasswordSettings"], "msDS-PasswordSettingsPrecedence": ["1"],
                    "msDS-PasswordReversibleEncryptionEnabled": ["FALSE"], "msDS-PasswordHistoryLength": ["3"],
                    "msDS-PasswordComplexityEnabled": ["TRUE"], "msDS-MinimumPasswordLength": ["9"], "msDS-MinimumPasswordAge": ["0"],
                    "msDS-MaximumPasswordAge": ["-8640000000000"], "msDS-LockoutThreshold": ["0"],
                    "msDS-LockoutObservationWindow": ["-18000000000"], "msDS-LockoutDuration": ["-18000000000"],
                    "msDS-PSOAppliesTo": ["CN=strict,CN=Users,$domain"],
                ]
            )
        ]
        return options
    }()

    fileprivate static func withTLS(host: String?) -> TestDomainOptions {
        var options = TestDomainOptions(
            users: [.init("alice", password: password, attributes: ["homeDirectory": #"\\files\alice"#])]
        )
        options.certificate = .rsaSHA256
        options.certificateHost = host
        return options
    }
}

extension Workstation {
    /// Signs in with the password, in a domain.
    fileprivate func login(_ name: String, in domain: TestDomain, environment: [String: String] = [:]) async throws -> CommandResult {
        try await ksso(in: domain, "login", name, "--password-stdin", "--force", input: "\(password)\n", environment: environment)
    }

    /// The only session in the status document.
    fileprivate func session(in domain: TestDomain) async throws -> StatusDocument.Session {
        let text = try await ksso(in: domain, "status", "--json").output
        return try #require(try StatusDocument(json: text).sessions.first, "\(text)")
    }

    fileprivate func directoryCheck(in domain: TestDomain) async throws -> DiagnosticCheck {
        let diagnosis = try await doctor(in: domain)
        return try #require(diagnosis.checks.first { $0.name == "directory" }, "\(diagnosis)")
    }
}

/// What the directory of a domain says about accounts, read with the user's own ticket.
@Suite(.serialized, .needsDomain, .needsNameServer, .testDomain(.withAccounts))
struct DomainDirectoryTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name))
    }

    private func days(until date: Date?) throws -> Double { try #require(date).timeIntervalSinceNow / 86_400 }

    @Test func `status shows the password's expiry and the home directory after a sign-in`() async throws {
        let result = try await station.login("alice", in: domain)
        #expect(result.exitStatus == 0 && result.errors == "", "\(result)")
        let session = try await station.session(in: domain)
        #expect(session.homeDirectory == #"\\files\home\alice"# && session.accountProblem == nil)
        #expect(abs(try days(until: session.passwordExpires) - 42) < 0.1)
        let text = try await station.ksso(in: domain, "status")
        #expect(text.output.contains(#"    home directory \\files\home\alice"#), "\(text)")
        #expect(text.output.contains(/the password expires on .* \(41 d left\)\n/), "\(text)")
        let tickets = try await station.run(["klist"])
        #expect(tickets.output.contains("ldap/\(domain.host)/ad.test@AD.TEST"), "\(tickets)")
    }

    @Test func `the expiry follows the rules that apply to the account`() async throws {
        #expect(try await station.login("strict", in: domain).exitStatus == 0)
        #expect(abs(try days(until: try await station.session(in: domain).passwordExpires) - 10) < 0.1)
        // The notice comes with the sign-in.
        try station.install(profile(realm: domain.realm.name, data: ["pwNotificationDays: 11"]))
        let result = try await station.login("strict", in: domain)
        #expect(result.errors.contains("strict@AD.TEST: the password expires in 9 days"), "\(result)")
    }

    @Test func `a password without an end has none`() async throws {
        #expect(try await station.login("never", in: domain).exitStatus == 0)
        #expect(try await station.session(in: domain).passwordExpires == nil)
        let check = try await station.directoryCheck(in: domain)
        #expect(check.verdict == .ok && check.detail.hasSuffix("its password never expires."), "\(check)")
    }

    /// The last change of the password is known from the directory.
    @Test func `pwExpireOverride counts from the change in the directory`() async throws {
        try station.install(profile(realm: domain.realm.name, data: ["pwExpireOverride: 3"]))
        #expect(try await station.login("bob", in: domain).exitStatus == 0)
        #expect(abs(try days(until: try await station.session(in: domain).passwordExpires) - 3) < 0.1)
    }

    /// The KDC has the same code for an unknown name.
    @Test func `the doctor names the accounts of a service principal name that the KDC does not know`() async throws {
        try station.install(profile(hosts: ["localhost"], realm: domain.realm.name))
        #expect(try await station.login("alice", in: domain).exitStatus == 0)
        func diagnosis() async throws -> String { try await station.ksso(in: domain, "doctor", "https://localhost:1/").output }
        let none = try await diagnosis()
        #expect(none.contains("service: the KDC does not know the service HTTP/localhost"), "\(none)")
        for account in ["gone", "frank"] {
            try await domain.set(["servicePrincipalName": ["HTTP/localhost"]], of: account, isUnchecked: true)
        }
        let several = try await diagnosis()
        let sentence = "service: several accounts of the domain have the service principal name HTTP/localhost"
        #expect(several.contains("\(sentence), so that the KDC issues no ticket: frank, gone.\n"), "\(several)")
    }

    /// The KDC has the same code for both.
    @Test func `a disabled account and a locked one have different messages`() async throws {
        #expect(try await station.login("carol", in: domain).exitStatus == 0)
        try await domain.set(["userAccountControl": ["514"]], of: "carol")
        let disabled = try await station.directoryCheck(in: domain)
        #expect(disabled.verdict == .failed && disabled.detail.contains("carol@AD.TEST is disabled"), "\(disabled)")
        let text = try await station.ksso(in: domain, "status")
        #expect(text.output.contains("    the account is disabled, according to the directory (read "), "\(text)")

        #expect(try await station.login("dave", in: domain).exitStatus == 0)
        let other = try Workstation(realm: domain.realm)
        try other.install(profile(realm: domain.realm.name))
        for _ in 1...3 {
            let wrong = try await other.ksso(in: domain, "login", "dave", "--password-stdin", input: "wrong\n")
            #expect(wrong.exitStatus == 1, "\(wrong)")
        }
        let locked = try await station.directoryCheck(in: domain)
        #expect(locked.verdict == .failed && locked.detail.contains("dave@AD.TEST is locked after wrong passwords"), "\(locked)")
    }

    /// The KDC has one code for all of them, and tells the reason in the data of its error.
    @Test(arguments: [
        (["userAccountControl": ["514"]], "gone@AD.TEST: the account is disabled. "),
        (["accountExpires": ["116444736010000000"], "userAccountControl": ["512"]], "gone@AD.TEST: the account has expired. "),
    ])
    func `a sign-in tells what is wrong with the account`(attributes: [String: [String]], sentence: String) async throws {
        try await domain.set(attributes, of: "gone")
        let result = try await station.login("gone", in: domain)
        #expect(result.exitStatus == 1 && result.errors.contains(sentence), "\(result)")
    }

    /// Samba's own message for the minimum age is about the length.
    @Test func `a refused password change prints the rules of the domain`() async throws {
        #expect(try await station.login("frank", in: domain).exitStatus == 0)
        let result = try await station.ksso(in: domain, "passwd", "frank", "--password-stdin", input: "\(password)\nLong-enough-3x\n")
        #expect(result.exitStatus == 1, "\(result)")
        #expect(result.errors.contains(/It was changed recently, and can be changed again after [^.]* left\)\./), "\(result)")
        let rules = "The domain AD.TEST requires at least 9 characters; three of: uppercase letters, "
        #expect(result.errors.contains(rules) && result.errors.contains("; none of the last 24 passwords."), "\(result)")
    }

    @Test func `an agent reads the accounts of its sessions`() async throws {
        // The agent keeps the tickets and reads the directory by itself, so the status changes some time after the sign-in.
        let script = """
            ksso agent run >/dev/null 2>\(station.directory)/agent.log & trap 'ksso agent stop' EXIT
            until ksso agent status >/dev/null 2>&1; do kill -0 $! || exit 1; done
            ksso login alice --password-stdin >/dev/null || exit 2
            timeout 300 ksso status --watch --json | grep -q -m1 files && exit 0
            cat \(station.directory)/agent.log >&2; exit 3
            """
        let result = try await station.script(script, in: domain, input: "\(password)\n")
        #expect(result.exitStatus == 0, "\(result)")
    }

    @Test func `a controller without the service of the directory is reported`() async throws {
        #expect(try await station.login("erin", in: domain).exitStatus == 0)
        let names = ["HOST/dc1.ad.test", "GC/dc1.ad.test/ad.test", "ldap/dc1.ad.test/ad.test"]
        try await domain.set(["servicePrincipalName": names.dropLast()], of: "DC1$")
        // A ticket from before would still work.
        let logout = try await station.ksso(in: domain, "logout")
        let login = try await station.login("erin", in: domain)
        let check = try await station.directoryCheck(in: domain)
        try await domain.set(["servicePrincipalName": names], of: "DC1$")
        #expect(logout.exitStatus == 0 && login.exitStatus == 0, "\(login)")
        #expect(check.verdict == .warning && check.remedy?.contains("setspn -S ldap/dc1.ad.test/DOMAIN") == true, "\(check)")
    }
}

/// Directories that are read by TLS only.
@Suite(.serialized, .needsDomain, .needsNameServer, .testDomain(.withTLS(host: nil)))
struct DomainDirectoryTLSTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name, data: ["requireTLSForLDAP: true"]))
    }

    @Test func `an account is read by TLS, with a certificate that is trusted`() async throws {
        let result = try await station.login("alice", in: domain, environment: ["LDAPTLS_CACERT": domain.certificatePath])
        #expect(result.exitStatus == 0, "\(result)")
        #expect(try await station.session(in: domain).homeDirectory == #"\\files\alice"#)
    }

    @Test func `a file of the current folder with options of libldap has no effect`() async throws {
        try station.write("TLS_CIPHER_SUITE NONE\nTLS_REQCERT never\nTLS_CERT /nonexistent\nTLS_KEY /nonexistent\n", to: "ldaprc")
        let script = """
            cd '\(station.directory)' && LDAPTLS_CACERT='\(domain.certificatePath)' ksso login alice --force --password-stdin
            """
        let result = try await station.script(script, in: domain, input: "\(password)\n")
        #expect(result.exitStatus == 0, "\(result)")
        #expect(try await station.session(in: domain).homeDirectory == #"\\files\alice"#)
    }

    @Test func `a certificate that is not trusted is refused`() async throws {
        #expect(try await station.login("alice", in: domain).exitStatus == 0)
        let check = try await station.directoryCheck(in: domain)
        #expect(check.verdict == .warning && check.detail.contains("TLS cannot be started"), "\(check)")
        #expect(try await station.session(in: domain).homeDirectory == nil)
    }
}

@Suite(.serialized, .needsDomain, .needsNameServer, .testDomain(.withTLS(host: "dc2.ad.test")))
struct DomainDirectoryNameTests {
    @Test func `a certificate for another host is refused`() async throws {
        let domain = try #require(TestDomainTrait.current)
        let station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name, data: ["requireTLSForLDAP: true"]))
        #expect(try await station.login("alice", in: domain).exitStatus == 0)
        let trusted = ["LDAPTLS_CACERT": domain.certificatePath]
        let doctor = try await station.ksso(in: domain, "doctor", environment: trusted)
        #expect(doctor.output.contains("TLS cannot be started"), "\(doctor)")
    }
}
