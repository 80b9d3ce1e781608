import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso login` with a password: the principal, the cache, and the errors.
@Suite(.testRealm(users: ["alice": "secret", "bob": "b o b €"], services: ["HTTP/localhost"]))
struct LoginTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    private func expectSignedIn(_ result: CommandResult, _ principal: String = "alice@EXAMPLE.TEST", cache: String? = nil) throws {
        let line = "\(principal) is signed in until TIME LEFT, in \(cache ?? station.cache).\n"
        #expect(result.output.withoutTimes == line)
        #expect(result.errors == "")
        #expect(result.exitStatus == 0)
    }

    @Test(arguments: ["secret\n", "secret", "secret\r\n", "secret\nnot read\n"])
    func `ksso login --password-stdin reads the first line as the password`(input: String) async throws {
        try expectSignedIn(try await station.ksso("login", "alice", "--password-stdin", input: input))
        let tickets = try await station.run(["klist"])
        #expect(tickets.output.contains("Default principal: alice@EXAMPLE.TEST"))
        #expect(tickets.output.contains("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST"))
    }

    @Test func `ksso login signs in the principal that is given`() async throws {
        try expectSignedIn(
            try await station.ksso("login", "bob@EXAMPLE.TEST", "--password-stdin", input: "b o b €\n"),
            "bob@EXAMPLE.TEST"
        )
    }

    @Test func `without a principal ksso login uses the name in USER`() async throws {
        let bob = ["USER": "bob"]
        try expectSignedIn(
            try await station.ksso("login", "--password-stdin", input: "b o b €\n", environment: bob),
            "bob@EXAMPLE.TEST"
        )
    }

    @Test func `without a principal ksso login uses the profile's principalName`() async throws {
        try station.install(profile(data: ["principalName: bob"]))
        try expectSignedIn(try await station.ksso("login", "--password-stdin", input: "b o b €\n"), "bob@EXAMPLE.TEST")
    }

    @Test func `each wrong password costs one attempt at the KDC`() async throws {
        try await realm.addUser("erin", password: "right")
        for attempt in 1...2 {
            let result = try await station.ksso("login", "erin", "--password-stdin", input: "wrong\n")
            let line = "erin@EXAMPLE.TEST: the password is wrong (preauthentication failed). Try again with: ksso login erin@EXAMPLE.TEST"
            #expect(result == .failure(1, line))
            #expect(try await realm.failedAttempts(of: "erin") == attempt)
        }
    }

    @Test func `a wrong password with --force keeps the existing ticket`() async throws {
        try await realm.addUser("ivan", password: "secret")
        try await station.signIn("ivan")
        #expect(try await station.ksso("login", "ivan", "--force", "--password-stdin", input: "wrong\n").exitStatus == 1)
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `--verbose adds libkrb5's text and code to an error`() async throws {
        try await realm.addUser("grace", password: "right")
        let result = try await station.ksso("login", "grace", "--password-stdin", "--verbose", input: "wrong\n")
        #expect(result.errors.hasSuffix("\n  libkrb5: Preauthentication failed (code -1765328360)\n"))
        #expect(result.exitStatus == 1)
    }

    @Test func `ksso login reports a principal that the KDC does not know`() async throws {
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
    func `expired passwords and unusable accounts are reported`(flag: String, value: String, name: String, message: String) async throws {
        try await realm.addUser(name, password: "secret", flags: [flag, value].filter { !$0.isEmpty })
        let result = try await station.ksso("login", name, "--password-stdin", input: "secret\n")
        #expect(result == .failure(1, "\(name)@EXAMPLE.TEST: \(message)"))
    }

    @Test func `ksso login reports an account that is locked after too many wrong passwords`() async throws {
        _ = try await realm.kadmin(["add_policy", "-maxfailure", "1", "strict"])
        try await realm.addUser("heidi", password: "secret", flags: ["-policy", "strict"])
        #expect(try await station.ksso("login", "heidi", "--password-stdin", input: "wrong\n").exitStatus == 1)
        let result = try await station.ksso("login", "heidi", "--password-stdin", input: "secret\n")
        #expect(result == .failure(1, "heidi@EXAMPLE.TEST: \(Self.revoked("LOCKED_OUT"))"))
    }

    /// The KDC first requires pre-authentication, which is not a refusal.
    @Test func `an error about a keytab without a usable key does not cite the KDC`() async throws {
        let keytab = "\(station.directory)/camellia.keytab"
        try await realm.addUser("judith", password: "secret", flags: ["+requires_preauth"])
        let entry = "addent -password -p judith@EXAMPLE.TEST -k 1 -e camellia128-cts-cmac\nsecret\nwkt \(keytab)\nquit\n"
        #expect(try await station.run(["ktutil"], input: entry).exitStatus == 0)
        let result = try await station.ksso("login", "judith", "--keytab", keytab)
        #expect(result.exitStatus == 1 && result.errors.contains("judith@EXAMPLE.TEST"), "\(result)")
        #expect(!result.errors.contains("the KDC's message") && !result.errors.contains("NEEDED_PREAUTH"), "\(result)")
    }

    /// The KDC has one error code for all of these; its message is more specific.
    private static func revoked(_ words: String) -> String {
        "the account is locked, disabled or expired, or this is outside its logon hours (Client's credentials have been revoked; "
            + "the KDC's message: \(words)). Ask your administrator."
    }

    @Test(arguments: ["", "\n"])
    func `ksso login reports a missing password on standard input`(input: String) async throws {
        let result = try await station.ksso("login", "alice", "--password-stdin", input: input)
        #expect(result == .failure(4, "standard input contains no password. Write the password to its first line."))
    }

    @Test func `a password of more than 1,023 bytes is refused`() async throws {
        let result = try await station.ksso("login", "alice", "--password-stdin", input: String(repeating: "x", count: 5000) + "\n")
        #expect(result == .failure(1, "the password on standard input is longer than 1,023 bytes."))
    }

    @Test func `without a terminal ksso login does not prompt and does not contact the KDC`() async throws {
        let result = try await station.ksso("login", "peggy", input: "secret\n")
        let line = "a password is required, and there is no terminal for the prompt. Use --password-stdin or --keytab."
        #expect(result == .failure(4, line))
        #expect(try !realm.log().contains("peggy"), "the KDC was contacted")
    }

    @Test func `ksso login --quiet never prompts`() async throws {
        let result = try await station.ksso("login", "alice", "--quiet")
        #expect(result == .failure(4, "a password is required, and --quiet disables prompting. Use --password-stdin or --keytab."))
    }

    @Test func `ksso login --quiet prints nothing on success`() async throws {
        #expect(try await station.ksso("login", "alice", "--password-stdin", "--quiet", input: "secret\n") == .done(""))
        #expect(try await station.ksso("login", "alice", "--quiet") == .done(""))
    }

    @Test func `ksso login with a valid session does not prompt unless --force is given`() async throws {
        try await station.signIn()
        let result = try await station.ksso("login", "alice")
        let line = "alice@EXAMPLE.TEST is signed in already, until TIME LEFT. To sign in again: ksso login --force alice@EXAMPLE.TEST\n"
        #expect(result.output.withoutTimes == line)
        #expect(result.exitStatus == 0)
        try expectSignedIn(try await station.ksso("login", "alice", "--force", "--password-stdin", input: "secret\n"))
    }

    @Test func `ksso login --valid-for signs in again unless the ticket is valid that long`() async throws {
        let first = try await station.ksso("login", "alice", "--password-stdin", "-q", "--lifetime", "1h", input: "secret\n")
        #expect(first.exitStatus == 0, "\(first)")
        let enough = try await station.ksso("login", "alice", "--valid-for", "30m")
        #expect(enough.exitStatus == 0 && enough.output.hasPrefix("alice@EXAMPLE.TEST is signed in already"), "\(enough)")
        let status = try await station.ksso("status", "--valid-for", "2h")
        let line =
            "ksso: alice@EXAMPLE.TEST: the ticket is valid for less than 2h. "
            + "Sign in again with: ksso login --valid-for 2h alice@EXAMPLE.TEST\n"
        #expect(status.exitStatus == 5 && status.errors == line, "\(status)")
        let command = ["login", "--valid-for", "2h", "alice@EXAMPLE.TEST", "--password-stdin"]
        try expectSignedIn(try await station.run(["ksso"] + command, input: "secret\n"))
        #expect(try await station.ksso("status", "--quiet", "--valid-for", "2h").exitStatus == 0)
        let long = try await station.ksso("login", "alice", "--valid-for", "90d", "--password-stdin", input: "secret\n")
        #expect(long.exitStatus == 1 && long.errors.contains("the new ticket is valid for less than 90d"), "\(long)")
        #expect(try await station.ksso("login", "--valid-for", "2h", "--lifetime", "1h").exitStatus == 64)
    }

    /// krb5.conf's default would be too short.
    @Test func `ksso login --valid-for requests a ticket that is valid that long`() async throws {
        let short = try station.write("[libdefaults]\nticket_lifetime = 1h\n", to: "short.conf")
        let environment = ["KRB5_CONFIG": "\(short):\(station.realm.configurationPath)"]
        let words = ["login", "alice", "--valid-for", "3h", "--password-stdin"]
        try expectSignedIn(try await station.run(["ksso"] + words, input: "secret\n", environment: environment))
        #expect(try await station.ksso("status", "--quiet", "--valid-for", "3h").exitStatus == 0)
    }

    @Test func `ksso login --valid-for without a name accepts the session of another principal, and signs it in again`() async throws {
        try station.install(profile())
        try await station.signIn()
        let environment = ["USER": "bob"]
        let kept = try await station.run(["ksso", "login", "--valid-for", "10m"], environment: environment)
        #expect(kept.exitStatus == 0 && kept.output.hasPrefix("alice@EXAMPLE.TEST is signed in already"), "\(kept)")
        let words = ["login", "--valid-for", "90d", "--password-stdin"]
        let long = try await station.run(["ksso"] + words, input: "secret\n", environment: environment)
        #expect(long.output.hasPrefix("alice@EXAMPLE.TEST is signed in until"), "\(long)")
    }

    @Test func `ksso login --valid-for reacquires a ticket with its keytab, without prompting`() async throws {
        try await station.realm.addService("app/valid")
        let keytab = try await station.realm.keytab(for: "app/valid")
        #expect(try await station.ksso("login", "--keytab", keytab, "--lifetime", "10m").exitStatus == 0)
        for words in [["app/valid@EXAMPLE.TEST"], ["--keytab", keytab]] {
            let kept = try await station.run(["ksso", "login", "--valid-for", "5m"] + words)
            #expect(kept.exitStatus == 0 && kept.output.contains("is signed in already"), "\(kept)")
        }
        let renewed = try await station.ksso("login", "app/valid@EXAMPLE.TEST", "--valid-for", "1h")
        #expect(renewed.withoutTimes == .done("app/valid@EXAMPLE.TEST: a new ticket was acquired, valid until TIME LEFT.\n"))
        #expect(try await station.ksso("status", "--quiet", "--valid-for", "1h").exitStatus == 0)
    }

    @Test func `--cache stores the tickets in that cache only`() async throws {
        let cache = "FILE:\(station.directory)/other"
        try expectSignedIn(
            try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n"),
            cache: cache
        )
        #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        #expect(try await station.run(["klist", "-s", cache]).exitStatus == 0)
    }

    @Test func `ksso login reports a cache of an unknown type`() async throws {
        let cache = "NONSENSE:x"
        let result = try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("ksso: \(cache): the credential cache cannot be used"), "\(result.errors)")
    }

    @Test func `ksso login reports a cache that cannot be written`() async throws {
        let cache = "FILE:/nonexistent/cache"
        let result = try await station.ksso("login", "alice", "--cache", cache, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.contains("/nonexistent/cache: the credential cache cannot be used"), "\(result.errors)")
    }

    @Test func `a name without a realm is refused if no default realm is known`() async throws {
        let empty = ["KRB5_CONFIG": try station.write("[libdefaults]\n    dns_lookup_realm = false\n", to: "krb5.conf")]
        let result = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: empty)
        let line =
            "alice: no default realm is known. Write name@REALM, pass the realm, or set isDefaultRealm in a profile or default_realm in "
            + "krb5.conf."
        #expect(result == .failure(1, line))
    }

    @Test func `--realm overrides the default realm of krb5.conf`() async throws {
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

    @Test func `ksso login exits with status 6 if no KDC of the realm is known`() async throws {
        let result = try await station.ksso("login", "alice@NOWHERE.TEST", "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 6)
        #expect(result.errors.hasPrefix("ksso: alice@NOWHERE.TEST: no KDC is known for this realm"))
        #expect(result.errors.hasSuffix("Check the network or the VPN, and the spelling of the realm, then run: ksso doctor\n"))
    }

    @Test(arguments: ["@EXAMPLE.TEST", "a@b@EXAMPLE.TEST"])
    func `a malformed principal name is refused`(name: String) async throws {
        let result = try await station.ksso("login", name, "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.errors.contains("Write it as name@REALM") || result.errors.contains("does not know"), "\(result.errors)")
    }
}
