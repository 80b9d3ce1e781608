import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

private let options = TestRealmOptions(users: ["alice": "secret"], acceptsPasswordChanges: true)

/// `ksso passwd`, and what `ksso login` does about expired and expiring passwords.
@Suite(.testRealm(options), .timeLimit(.minutes(5))) struct PasswdTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    @Test func `ksso passwd --password-stdin reads both passwords from standard input`() async throws {
        let user = try await realm.newUser()
        let result = try await station.ksso("passwd", user, "--password-stdin", input: "secret\nfresh secret\n")
        #expect(result == .done("The password of \(user)@EXAMPLE.TEST was changed.\n"))
        try await station.signIn(user, password: "fresh secret")
    }

    @Test func `ksso passwd prints when the new password expires`() async throws {
        try station.install(profile(data: ["pwExpireOverride: 30"]))
        let user = try await realm.newUser()
        let result = try await station.ksso("passwd", user, "--password-stdin", input: "secret\nfresh secret\n")
        let words = result.output.wholeMatch(of: /The password of (\S+) was changed; the new one expires on .* \(29 d left\)\.\n/)
        #expect(words?.1 == "\(user)@EXAMPLE.TEST", "\(result)")
    }

    @Test func `ksso passwd prompts for the current password and twice for the new one`() async throws {
        let user = try await realm.newUser("-pwexpire yesterday")
        let transcript = try await Conversation.atTerminal("ksso passwd \(user); echo status=$?", on: station) { terminal in
            try await terminal.wait(for: "Current password for \(user)@EXAMPLE.TEST: ")
            try await terminal.type("secret\n")
            try await terminal.wait(for: "New password: ")
            try await terminal.type("fresh secret\n")
            try await terminal.wait(for: "New password again: ")
            try await terminal.type("fresh secret\n")
            try await terminal.wait(for: "status=0")
        }.transcript
        #expect(transcript.contains("The password of \(user)@EXAMPLE.TEST was changed."))
        #expect(!transcript.contains("fresh secret"))
    }

    @Test func `ksso login prompts for a new password if the current one has expired`() async throws {
        let user = try await realm.newUser("+needchange")
        let transcript = try await Conversation.atTerminal("ksso login \(user); echo status=$?", on: station) { terminal in
            try await terminal.wait(for: "The password of \(user)@EXAMPLE.TEST has expired and must be changed.")
            try await terminal.wait(for: "Current password for \(user)@EXAMPLE.TEST: ")
            try await terminal.type("secret\n")
            try await terminal.wait(for: "New password: ")
            try await terminal.type("fresh secret\n")
            try await terminal.wait(for: "New password again: ")
            try await terminal.type("fresh secret\n")
            try await terminal.wait(for: "status=0")
        }.transcript
        #expect(transcript.contains("\(user)@EXAMPLE.TEST is signed in until"), "\(transcript)")
    }

    @Test func `a wrong current password costs one attempt and changes nothing`() async throws {
        let user = try await realm.newUser()
        let result = try await station.ksso("passwd", user, "--password-stdin", input: "wrong\nfresh\n")
        let line = "\(user)@EXAMPLE.TEST: the current password is wrong (preauthentication failed). Nothing was changed."
        #expect(result == .failure(1, line))
        #expect(try await realm.failedAttempts(of: user) == 1)
    }

    /// `admin_server` is enough, and a realm in another section is not.
    @Test func `ksso passwd reports before its first prompt that no password server is known`() async throws {
        let lines = try String(contentsOfFile: realm.configurationPath, encoding: .utf8).split(separator: "\n")
        let others = lines.filter { !$0.contains("kpasswd_server") }.joined(separator: "\n")
        #expect(others.count < lines.joined(separator: "\n").count)
        let environment = ["KRB5_CONFIG": try station.write(others + "\n", to: "krb5.conf")]
        let message =
            "no password server of EXAMPLE.TEST is known: neither krb5.conf nor DNS names one, so the password cannot be changed. "
            + "Add kpasswd_server or admin_server to the realm in krb5.conf, or ask your administrator."
        let end = try await Conversation.atTerminal("ksso passwd alice", on: station, environment: environment) { _ in }
        #expect(end.status == 6 && end.transcript == "ksso: alice@EXAMPLE.TEST: \(message)\n", "\(end)")
        let piped = try await station.ksso("passwd", "alice", "--password-stdin", input: "wrong\nfresh\n", environment: environment)
        #expect(piped == .failure(6, "alice@EXAMPLE.TEST: \(message)"))
        #expect(try await realm.failedAttempts(of: "alice") == 0, "nothing was sent")
        let administered = others.replacing(" kdc = ", with: " admin_server = localhost\n kdc = ", maxReplacements: 1)
        let named = ["KRB5_CONFIG": try station.write(administered + "\n", to: "krb5.conf")]
        _ = try await Conversation.atTerminal("ksso passwd alice", on: station, environment: named) { terminal in
            try await terminal.wait(for: "Current password for alice@EXAMPLE.TEST: ")
            try await terminal.type("\u{3}")
        }
    }

    @Test func `ksso login says that the password has expired if no password server is known`() async throws {
        let user = try await realm.newUser()
        try await realm.expirePassword(of: user)
        let lines = try String(contentsOfFile: realm.configurationPath, encoding: .utf8).split(separator: "\n")
        let others = lines.filter { !$0.contains("kpasswd_server") }.joined(separator: "\n")
        let environment = ["KRB5_CONFIG": try station.write(others + "\n", to: "krb5.conf")]
        let end = try await Conversation.atTerminal("ksso login \(user)", on: station, environment: environment) { _ in }
        let fault = "\(user)@EXAMPLE.TEST: the password has expired. No password server of EXAMPLE.TEST is known"
        #expect(end.status == 1 && end.transcript.contains(fault), "\(end)")
    }

    @Test(arguments: ["", "secret\n"])
    func `ksso passwd reports a missing password on standard input`(input: String) async throws {
        let result = try await station.ksso("passwd", "alice", "--password-stdin", input: input)
        #expect(result == .failure(4, "standard input contains no password. Write the password to its first line."))
    }

    @Test func `without a terminal ksso passwd reports that it cannot prompt`() async throws {
        let result = try await station.ksso("passwd", "alice")
        let line = "passwords are required, and there is no terminal for the prompts. Use --password-stdin, with one password per line."
        #expect(result == .failure(4, line))
    }

    private static let profiles: [(key: String, words: String)] = [
        (
            "pwChangeURL: https://password.example/",
            "passwords of EXAMPLE.TEST cannot be changed here. Change the password at: https://password.example/"
        ),
        ("allowPasswordChange: false", "test.yaml does not allow password changes (allowPasswordChange). Ask your administrator."),
    ]

    @Test(arguments: profiles)
    func `a profile can disable password changes`(key: String, words: String) async throws {
        try station.install(profile(data: [key]))
        let result = try await station.ksso("passwd", "alice", "--password-stdin", input: "secret\nfresh\n")
        #expect(result.exitStatus == 1 && result.output == "")
        #expect(result.errors.hasPrefix("ksso: alice@EXAMPLE.TEST: ") && result.errors.contains(words), "\(result.errors)")
        try await station.signIn()
    }

    @Test func `a new password must meet the profile's requirements`() async throws {
        try station.install(profile(data: ["pwReqLength: 12", "pwReqComplexity: true"]))
        let result = try await station.ksso("passwd", "alice", "--password-stdin", input: "secret\nAlice\n")
        #expect(
            result
                == .failure(
                    1,
                    "alice@EXAMPLE.TEST: the new password does not meet the requirements. It requires at least 12 characters. It requires "
                        + "characters of three "
                        + "kinds: uppercase letters, lowercase letters, digits, others, letters of scripts without case. "
                        + "It must not contain the account's name."
                )
        )
    }

    private static let expiries: [(flag: String, keys: [String], isReported: Bool)] = [
        ("-pwexpire \"3 days\"", [], true), ("-pwexpire \"3 days\"", ["pwNotificationDays: 2"], false),
        ("-pwexpire \"60 days\"", [], false), ("-pwexpire \"60 days\"", ["pwNotificationDays: 90"], true),
        ("-pwexpire \"3 days\"", ["performKerberosOnly: true"], false), ("-pwexpire never", [], false),
    ]

    @Test(arguments: expiries)
    func `an expiring password is reported within its notification period`(flag: String, keys: [String], isReported: Bool) async throws {
        let user = try await realm.newUser(flag)
        try station.install(profile(data: keys))
        let login = try await station.ksso("login", user, "--password-stdin", input: "secret\n")
        #expect(login.exitStatus == 0)
        let notice = "the password expires in "
        #expect(login.errors.contains("\(user)@EXAMPLE.TEST: \(notice)") == isReported, "\(login.errors)")
        if isReported {
            #expect(login.errors.contains("Change it with: ksso passwd \(user)@EXAMPLE.TEST"))
        } else {
            #expect(login.errors == "")
        }
        #expect(try await station.ksso("status").output.contains(notice) == isReported)
        let quiet = try await station.ksso("login", user, "--force", "--quiet", "--password-stdin", input: "secret\n")
        #expect(quiet == .done(""))
        let json = try await station.ksso("status", "--json").output
        #expect(json.contains(#""passwordExpires" : null"#) == flag.hasSuffix("never"), "\(json)")
    }
}
