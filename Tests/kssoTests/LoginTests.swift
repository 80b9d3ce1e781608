import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret", "bob": "b o b €"], services: ["HTTP/localhost"]))
struct LoginTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    private func expectSignedIn(_ result: CommandResult, _ principal: String = "alice@EXAMPLE.TEST", cache: String? = nil) throws {
        let line = "\(principal) is signed in until TIME, in \(cache ?? station.cache).\n"
        #expect(result.output.withoutTimes == line)
        #expect(result.errors == "")
        #expect(result.exitStatus == 0)
    }

    @Test(arguments: ["secret\n", "secret", "secret\r\n", "secret\nnot read\n"])
    func `password from standard input`(input: String) async throws {
        try expectSignedIn(try await station.ksso("login", "alice", "--password-stdin", input: input))
        let tickets = try await station.run(["klist"])
        #expect(tickets.output.contains("Default principal: alice@EXAMPLE.TEST"))
        #expect(tickets.output.contains("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST"))
    }

    @Test func `whoever is named signs in`() async throws {
        try expectSignedIn(
            try await station.ksso("login", "bob@EXAMPLE.TEST", "--password-stdin", input: "b o b €\n"),
            "bob@EXAMPLE.TEST"
        )
    }

    @Test func `with nobody named the user signs in`() async throws {
        let bob = ["USER": "bob"]
        try expectSignedIn(
            try await station.ksso("login", "--password-stdin", input: "b o b €\n", environment: bob),
            "bob@EXAMPLE.TEST"
        )
    }

    @Test func `with nobody named the profiles principal signs in`() async throws {
        try station.install(profile(data: ["principalName: bob"]))
        try expectSignedIn(try await station.ksso("login", "--password-stdin", input: "b o b €\n"), "bob@EXAMPLE.TEST")
    }

    @Test func `a wrong password is one failed attempt`() async throws {
        try await realm.addUser("erin", password: "right")
        for attempt in 1...2 {
            let result = try await station.ksso("login", "erin", "--password-stdin", input: "wrong\n")
            let line = "erin@EXAMPLE.TEST: the password is wrong (preauthentication failed). Try again with: ksso login erin@EXAMPLE.TEST"
            #expect(result == .failure(1, line))
            #expect(try await realm.failedAttempts(of: "erin") == attempt)
        }
    }

    @Test func `a wrong password loses no ticket`() async throws {
        try await realm.addUser("ivan", password: "secret")
        try await station.signIn("ivan")
        #expect(try await station.ksso("login", "ivan", "--force", "--password-stdin", input: "wrong\n").exitStatus == 1)
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `detail names the librarys text and code`() async throws {
        try await realm.addUser("grace", password: "right")
        let result = try await station.ksso("login", "grace", "--password-stdin", "--verbose", input: "wrong\n")
        #expect(result.errors.hasSuffix("\n  libkrb5: Preauthentication failed (code -1765328360)\n"))
        #expect(result.exitStatus == 1)
    }

    @Test func `an unknown principal`() async throws {
        let result = try await station.ksso("login", "nobody", "--password-stdin", input: "secret\n")
        #expect(result == .failure(1, "nobody@EXAMPLE.TEST: the KDC does not know this principal. Check the name and the realm."))
    }

    @Test(arguments: [
        (
            "-pwexpire", "yesterday", "expired-password",
            "the password has expired. Change it with: ksso passwd expired-password@EXAMPLE.TEST"
        ),
        ("-allow_tix", "", "locked", Self.revoked("CLIENT LOCKED OUT")),
        ("-expire", "yesterday", "expired", "the account has expired. Ask your administrator."),
    ])
    func `an account that may not`(flag: String, value: String, name: String, message: String) async throws {
        try await realm.addUser(name, password: "secret", flags: [flag, value].filter { !$0.isEmpty })
        let result = try await station.ksso("login", name, "--password-stdin", input: "secret\n")
        #expect(result == .failure(1, "\(name)@EXAMPLE.TEST: \(message)"))
    }

    @Test func `an account that too many wrong passwords locked`() async throws {
        _ = try await realm.kadmin(["add_policy", "-maxfailure", "1", "strict"])
        try await realm.addUser("heidi", password: "secret", flags: ["-policy", "strict"])
        #expect(try await station.ksso("login", "heidi", "--password-stdin", input: "wrong\n").exitStatus == 1)
        let result = try await station.ksso("login", "heidi", "--password-stdin", input: "secret\n")
        #expect(result == .failure(1, "heidi@EXAMPLE.TEST: \(Self.revoked("LOCKED_OUT"))"))
    }

    /// The KDC asks for pre-authentication first, which is no refusal.
    @Test func `a keytab without a usable key is not blamed on the KDC`() async throws {
        let keytab = "\(station.directory)/camellia.keytab"
        try await realm.addUser("judith", password: "secret", flags: ["+requires_preauth"])
        let entry = "addent -password -p judith@EXAMPLE.TEST -k 1 -e camellia128-cts-cmac\nsecret\nwkt \(keytab)\nquit\n"
        #expect(try await station.run(["ktutil"], input: entry).exitStatus == 0)
        let result = try await station.ksso("login", "judith", "--keytab", keytab)
        #expect(result.exitStatus == 1 && result.errors.contains("judith@EXAMPLE.TEST"), "\(result)")
        #expect(!result.errors.contains("the KDC's message") && !result.errors.contains("NEEDED_PREAUTH"), "\(result)")
    }

    /// The KDC has one code for all of these; its own words say more.
    private static func revoked(_ words: String) -> String {
        "the account is locked, disabled or expired, or this is outside its logon hours (Client's credentials have been revoked; "
            + "the KDC's message: \(words)). Ask your administrator."
    }

    @Test(arguments: ["", "\n"])
    func `no password on standard input`(input: String) async throws {
        let result = try await station.ksso("login", "alice", "--password-stdin", input: input)
        #expect(result == .failure(4, "standard input contains no password. Write the password to its first line."))
    }

    @Test func `a password that is too long`() async throws {
        let result = try await station.ksso("login", "alice", "--password-stdin", input: String(repeating: "x", count: 5000) + "\n")
        #expect(result == .failure(1, "the password on standard input is longer than 1,023 bytes."))
    }

    @Test func `without a terminal nobody is asked`() async throws {
        let result = try await station.ksso("login", "peggy", input: "secret\n")
        let line = "a password is required, and there is no terminal for the prompt. Use --password-stdin or --keytab."
        #expect(result == .failure(4, line))
        #expect(try !realm.log().contains("peggy"), "the KDC was asked")
    }

    @Test func `quiet never asks`() async throws {
        let result = try await station.ksso("login", "alice", "--quiet")
        #expect(result == .failure(4, "a password is required, and --quiet disables prompting. Use --password-stdin or --keytab."))
    }

    @Test func `quiet prints nothing on success`() async throws {
        #expect(try await station.ksso("login", "alice", "--password-stdin", "--quiet", input: "secret\n") == .done(""))
        #expect(try await station.ksso("login", "alice", "--quiet") == .done(""))
    }

    @Test func `who is signed in is not asked again`() async throws {
        try await station.signIn()
        let result = try await station.ksso("login", "alice")
        let line = "alice@EXAMPLE.TEST is signed in already, until TIME. To sign in again: --force\n"
        #expect(result.output.withoutTimes == line)
        #expect(result.exitStatus == 0)
        try expectSignedIn(try await station.ksso("login", "alice", "--force", "--password-stdin", input: "secret\n"))
    }

    @Test func `another cache is filled`() async throws {
        let cache = "FILE:\(station.directory)/other"
        try expectSignedIn(
            try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n"),
            cache: cache
        )
        #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        #expect(try await station.run(["klist", "-s", cache]).exitStatus == 0)
    }

    @Test func `a cache of a type that is not`() async throws {
        let cache = "NONSENSE:x"
        let result = try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("ksso: \(cache): the credential cache cannot be used"), "\(result.errors)")
    }

    @Test func `a cache that cannot be written`() async throws {
        let cache = "FILE:/nonexistent/cache"
        let result = try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.contains("/nonexistent/cache: the credential cache cannot be used"), "\(result.errors)")
    }

    @Test func `no realm is known`() async throws {
        let empty = ["KRB5_CONFIG": try station.write("[libdefaults]\n    dns_lookup_realm = false\n", to: "krb5.conf")]
        let result = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: empty)
        let line = "alice: no realm is known. Write name@REALM, pass the realm, or install a profile or a krb5.conf with a default realm."
        #expect(result == .failure(1, line))
    }

    @Test func `the realm may be given apart`() async throws {
        let configuration = try station.write("[libdefaults]\n    default_realm = OTHER.TEST\n", to: "krb5.conf")
        let environment = ["KRB5_CONFIG": "\(configuration):\(realm.configurationPath)"]
        try expectSignedIn(
            try await station.ksso(
                "login",
                "alice",
                "--realm",
                "EXAMPLE.TEST",
                "--password-stdin",
                input: "secret\n",
                environment: environment
            )
        )
    }

    @Test func `a realm that nobody knows`() async throws {
        let result = try await station.ksso("login", "alice@NOWHERE.TEST", "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 6)
        #expect(result.errors.hasPrefix("ksso: alice@NOWHERE.TEST: no KDC is known for this realm"))
    }

    @Test(arguments: ["@EXAMPLE.TEST", "a@b@EXAMPLE.TEST"])
    func `what is no principal`(name: String) async throws {
        let result = try await station.ksso("login", name, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.errors.contains("Write it as name@REALM") || result.errors.contains("does not know"), "\(result.errors)")
    }
}
