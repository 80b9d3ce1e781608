import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// A user whose name in the realm is not the name of the account: `ksso` asks for it once, and uses it from then on.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(5)))
struct UserNameQuestionTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private static let account = ["USER": "uid4711"]
    private static let unknown = "The KDC does not know uid4711@EXAMPLE.TEST.\n"
    private var file: String { "\(station.directory)/config/ksso/principals" }
    private var principals: [Substring]? {
        FileManager.default.contents(atPath: file).map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n").filter { $0.first != "#" }
        }
    }

    private func atTerminal(_ command: String, _ body: (Conversation) async throws -> Void) async throws -> (
        status: Int, transcript: String
    ) {
        try await Conversation.atTerminal(command, on: station, environment: Self.account, body)
    }

    private func ksso(_ words: String..., input: String? = nil) async throws -> CommandResult {
        try await station.run(["ksso"] + words, input: input, environment: Self.account)
    }

    @Test func `ksso setup asks for the name once, so that a second run and ksso login use it`() async throws {
        let profile = try station.write(profile(data: ["customUsernameLabel: Staff number"]), to: "corp.yaml")
        let end = try await atTerminal("ksso setup --no-session \(profile)") { terminal in
            #expect(try await terminal.wait(for: "Staff number: ").hasSuffix("\(Self.unknown)Staff number: "))
            try await terminal.type("alice\n")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST: ")
            try await terminal.type("secret\n")
        }
        #expect(end.transcript.contains("\n\(file): later sign-ins use alice@EXAMPLE.TEST.\n"), "\(end)")
        #expect(end.status == 0 && end.transcript.contains("\nChecked: "), "\(end)")
        #expect(principals == ["alice@EXAMPLE.TEST"])
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        let again = try await ksso("setup", "--no-session")
        #expect(again.exitStatus == 0 && again.output.contains("alice@EXAMPLE.TEST is signed in already"), "\(again)")
        #expect(try await ksso("profile", "show").output.contains("    default principal: alice@EXAMPLE.TEST\n"))
        #expect(try await ksso("logout").exitStatus == 0)
        let login = try await ksso("login", "--password-stdin", input: "secret\n")
        #expect(login.exitStatus == 0 && login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until"), "\(login)")
        // What setup stored is removed again.
        #expect(try await ksso("setup", "--undo").output.contains("\(file): removed\n"))
        #expect(principals == nil)
    }

    @Test func `after a wrong password, the command that ksso setup prints needs no second name`() async throws {
        let profile = try station.write(profile(), to: "corp.yaml")
        let end = try await atTerminal("ksso setup --no-session \(profile)") { terminal in
            try await terminal.wait(for: "User name in EXAMPLE.TEST: ")
            try await terminal.type("alice\n")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST: ")
            try await terminal.type("wrong\n")
        }
        #expect(end.status == 1 && principals == nil)
        #expect(end.transcript.contains("Try again with: ksso setup --principal 'alice@EXAMPLE.TEST'\n"), "\(end)")
    }

    @Test func `ksso setup uses the principal that is signed in, and stores it`() async throws {
        try station.install(profile())
        #expect(try await ksso("login", "alice", "--password-stdin", input: "secret\n").exitStatus == 0)
        #expect(principals == nil)
        let setup = try await ksso("setup", "--no-session")
        #expect(setup.exitStatus == 0 && setup.output.contains("alice@EXAMPLE.TEST is signed in already"), "\(setup)")
        #expect(principals == ["alice@EXAMPLE.TEST"])
        // A stored name is replaced only if another one is given.
        #expect(try await ksso("logout").exitStatus == 0)
        #expect(try await ksso("login", "bob", "--password-stdin", input: "secret\n").exitStatus == 0)
        #expect(try await ksso("setup", "--no-session").output.contains("bob@EXAMPLE.TEST is signed in already"))
        #expect(principals == ["alice@EXAMPLE.TEST"])
    }

    /// The third answer is not known either, or it is.
    @Test(arguments: [("ksso login", "bob", 0), ("ksso login", "absent", 1), ("ksso setup --no-session", "absent", 1)])
    func `the name is asked for at most three times`(command: String, last: String, status: Int) async throws {
        try station.install(profile())
        let question = "User name in EXAMPLE.TEST: "
        let end = try await atTerminal(command) { terminal in
            try await terminal.wait(for: "\(Self.unknown)\(question)")
            try await terminal.type("stranger\n")
            try await terminal.wait(for: "The KDC does not know stranger@EXAMPLE.TEST.\n\(question)")
            try await terminal.type("a\\b\\c\n")
            try await terminal.wait(for: "a backslash in a principal name must precede")
            try await terminal.wait(for: question)
            try await terminal.type("\(last)\n")
            guard status == 0 else { return }
            try await terminal.wait(for: "Password for bob@EXAMPLE.TEST: ")
            try await terminal.type("secret\n")
        }
        if command.hasPrefix("ksso setup") { #expect(end.transcript.contains("run: ksso setup --principal NAME@REALM\n"), "\(end)") }
        #expect(end.status == status, "\(end)")
        #expect(principals == (status == 0 ? ["bob@EXAMPLE.TEST"] : nil))
    }

    @Test(arguments: [("\n", 1), ("\u{3}", 130)])
    func `an empty answer and Ctrl-C end the sign-in`(answer: String, status: Int) async throws {
        try station.install(profile())
        let end = try await atTerminal("ksso login") { terminal in
            try await terminal.wait(for: "User name in EXAMPLE.TEST: ")
            try await terminal.type(answer)
        }
        #expect(end.status == status, "\(end)")
        if status == 1 { #expect(end.transcript.contains("use: ksso login NAME@EXAMPLE.TEST\n"), "\(end)") }
        #expect(principals == nil)
    }

    @Test(arguments: [(["login"], "ksso login NAME@EXAMPLE.TEST"), (["setup"], "ksso setup --principal NAME@EXAMPLE.TEST")])
    func `without a terminal the message names the command that signs in`(command: [String], advice: String) async throws {
        try station.install(profile())
        let result = try await station.run(["ksso"] + command + ["--password-stdin"], input: "secret\n", environment: Self.account)
        let message = "uid4711@EXAMPLE.TEST: the KDC does not know this principal. If you have another name in the realm, use: \(advice)"
        #expect(result.exitStatus == 1 && result.errors.contains("ksso: \(message)\n"), "\(result)")
        #expect(!result.errors.contains("run: ksso setup\n"), "that command would fail for the same reason")
    }

    @Test func `ksso setup --principal is used by later sign-ins, also with --no-login`() async throws {
        try station.install(profile())
        let first = try await ksso("setup", "--principal", "alice@EXAMPLE.TEST", "--password-stdin", "--no-session", input: "secret\n")
        #expect(first.exitStatus == 0 && principals == ["alice@EXAMPLE.TEST"], "\(first)")
        let second = try await ksso("setup", "--principal", "bob", "--no-login", "--no-session")
        #expect(second == .done("\(file): later sign-ins use bob@EXAMPLE.TEST.\n"))
        #expect(principals == ["bob@EXAMPLE.TEST"])
    }

    @Test func `ksso setup --principal says why it stores no name`() async throws {
        let words = ["setup", "--principal", "alice@EXAMPLE.TEST", "--no-login", "--no-session"]
        let other = try station.write(profile(hosts: ["other.test"], realm: "OTHER.TEST"), to: "other.yaml")
        let without = try await station.run(["ksso"] + words + [other], environment: Self.account)
        let sentence = "alice@EXAMPLE.TEST is not stored for later sign-ins, because "
        #expect(without.exitStatus == 0 && without.errors.hasSuffix("\(sentence)no profile of EXAMPLE.TEST is installed.\n"), "\(without)")
        try station.install(profile(data: ["principalName: bob"]))
        let named = try await station.run(["ksso"] + words, environment: Self.account)
        #expect(named.exitStatus == 0 && named.errors.hasSuffix("\(sentence)the profile names bob@EXAMPLE.TEST.\n"), "\(named)")
        #expect(principals == nil)
    }

    @Test func `ksso setup --undo removes the name that ksso stored, and keeps the user's own lines`() async throws {
        try station.install(profile())
        let words = ["setup", "--principal", "alice@EXAMPLE.TEST", "--no-login", "--no-session"]
        try "# mine\nbob@OTHER.TEST\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(try await station.run(["ksso"] + words, environment: Self.account).exitStatus == 0)
        #expect(principals == ["bob@OTHER.TEST", "alice@EXAMPLE.TEST"])
        let undo = try await ksso("setup", "--undo")
        #expect(undo.output.contains("\(file): removed alice@EXAMPLE.TEST; the other lines are kept\n"), "\(undo)")
        #expect(principals == ["bob@OTHER.TEST"])
        let again = try await ksso("setup", "--undo")
        #expect(again.errors.contains("\(file): kept, because ksso setup did not write it\n"), "\(again)")
        #expect(principals == ["bob@OTHER.TEST"])
    }

    @Test func `a name that is not stored because of an invalid line is reported`() async throws {
        try station.install(profile())
        try "bob\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let result = try await ksso("setup", "--principal", "alice@EXAMPLE.TEST", "--no-login", "--no-session")
        #expect(result.exitStatus == 1 && result.errors.contains("\(file): Line 1 is not a principal with its realm"), "\(result)")
        #expect(!result.output.contains("later sign-ins") && principals == ["bob"], "\(result)")
    }

    @Test func `a profile's principalName and a name that is given cause no question`() async throws {
        try station.install(profile(data: ["principalName: stranger"]))
        for command in ["ksso login", "ksso login stranger"] {
            let end = try await atTerminal(command) { _ in }
            #expect(end.status == 1 && !end.transcript.contains("User name"), "\(end)")
        }
        let login = try await ksso("login", "alice", "--password-stdin", input: "secret\n")
        #expect(login.exitStatus == 0 && principals == nil, "\(login)")
    }

    @Test func `a running agent uses the name that was entered`() async throws {
        try station.install(profile())
        try await station.withAgent(environment: Self.account) { agent in
            _ = try await atTerminal("ksso login") { terminal in
                try await terminal.wait(for: "User name in EXAMPLE.TEST: ")
                try await terminal.type("alice\n")
                try await terminal.wait(for: "Password for alice@EXAMPLE.TEST: ")
                try await terminal.type("secret\n")
            }
            try await agent.wait(for: "the profiles have changed. Active: ")
            func post(_ body: String, _ path: String) async throws -> String {
                let curl = ["curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock"]
                let data = ["-H", "Content-Type: application/json", "-d", body, "http://agent/v1/\(path)"]
                return try await station.run(curl + data).output
            }
            let grant = try await post(#"{"url": "http://localhost/"}"#, "authorize")
            #expect(grant.contains(#""alice@EXAMPLE.TEST""#), "\(grant)")
            #expect(try await ksso("logout").exitStatus == 0)
            let login = try await post(#"{"realm": "EXAMPLE.TEST", "password": "secret"}"#, "login")
            #expect(login.contains(#""alice@EXAMPLE.TEST""#), "\(login)")
        }
    }
}
