import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The password prompt at a terminal. Each test has a pseudo-terminal of its own.
@Suite(.testRealm(users: ["alice": "top-secret"]), .timeLimit(.minutes(5)))
struct TerminalTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    private static let prompt = "Password for alice@EXAMPLE.TEST: "

    /// A script that runs a command and compares the terminal's settings before and after it: `settings=0` means that they are equal.
    ///
    /// The script handles SIGINT, so that Ctrl-C stops only the command.
    private func guarded(_ command: String) -> String {
        "trap : INT; stty -g >before; \(command); echo status=$?; stty -g >after; cmp before after; echo settings=$?"
    }

    private func atTerminal(_ command: String, _ body: (Conversation) async throws -> Void) async throws -> String {
        try await Conversation.atTerminal("cd \(station.directory); \(command)", on: station, body).transcript
    }

    @Test func `the password prompt does not echo the password`() async throws {
        let transcript = try await atTerminal(guarded("ksso login alice") + "; read word") { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
            try await terminal.type("shown again\n")
        }
        let lines = transcript.withoutTimes.split(separator: "\n")
        #expect(
            lines == [
                "\(Self.prompt)"[...], "alice@EXAMPLE.TEST is signed in until TIME LEFT, in \(station.cache).", "status=0", "settings=0",
                "shown again",
            ]
        )
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `ksso login shows the profile's label and help text above its prompt`() async throws {
        try station.install(profile(data: ["customUsernameLabel: Staff number", #"helpText: "Call 1234\e[2J""#]))
        let transcript = try await atTerminal(guarded("ksso login")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
        #expect(transcript.hasPrefix("Staff number: alice@EXAMPLE.TEST\nCall 1234\\u{1b}[2J\n\(Self.prompt)"), "\(transcript)")
    }

    /// It would cost one of the attempts before the account is locked.
    @Test func `an empty password is not sent, and the prompt is repeated`() async throws {
        try await realm.addUser("trent", password: "right")
        let transcript = try await atTerminal(guarded("ksso login trent")) { terminal in
            for answer in ["", "", "right"] {
                try await terminal.wait(for: "Password for trent@EXAMPLE.TEST: ")
                #expect(try await realm.failedAttempts(of: "trent") == 0)
                try await terminal.type("\(answer)\n")
            }
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
        #expect(transcript.contains("trent@EXAMPLE.TEST is signed in until "), "\(transcript)")
    }

    @Test func `ksso login does not prompt again after a wrong password`() async throws {
        try await realm.addUser("mallory", password: "right")
        let transcript = try await atTerminal(guarded("ksso login mallory")) { terminal in
            try await terminal.wait(for: "Password for mallory@EXAMPLE.TEST: ")
            try await terminal.type("wrong\n")
            try await terminal.wait(for: "status=1\nsettings=0\n")
        }
        #expect(transcript.contains("\nksso: mallory@EXAMPLE.TEST: the password is wrong (preauthentication failed). Try again with: "))
        #expect(!transcript.contains("wrong\n"))
        #expect(try await realm.failedAttempts(of: "mallory") == 1)
    }

    @Test func `typing errors can be corrected at the password prompt`() async throws {
        _ = try await atTerminal(guarded("ksso login alice")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("nonsense\u{15}top-secreX\u{7F}t\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
    }

    /// Ctrl-C, also after some text; Ctrl-D; and, after some text, Ctrl-D twice.
    @Test(arguments: ["\u{03}", "top-se\u{03}", "\u{04}", "top-secret\u{04}\u{04}"])
    func `Ctrl-C or Ctrl-D at the prompt cancels the sign-in and restores the terminal`(keys: String) async throws {
        let transcript = try await atTerminal(guarded("ksso login alice")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type(keys)
            try await terminal.wait(for: "status=130\nsettings=0\n")
        }
        #expect(transcript.contains("\(Self.prompt)\nksso: alice@EXAMPLE.TEST: canceled.\n"), "\(transcript)")
        #expect(!transcript.contains("top-se"))
        #expect(try await realm.failedAttempts(of: "alice") == 0)
    }

    /// bash itself restores the settings when a job stops; dash does not, so that ksso must.
    @Test(arguments: ["bash --norc -i", "dash -i"])
    func `the prompt can be stopped with Ctrl-Z and continued in the foreground`(shell: String) async throws {
        let transcript = try await atTerminal(shell) { terminal in
            try await terminal.wait(for: "ready> ")
            try await terminal.type("stty -g >before\n")
            try await terminal.wait(for: "ready> ")
            try await terminal.type("ksso login alice\n")
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("\u{1A}")
            try await terminal.wait(for: "Stopped")
            try await terminal.wait(for: "ready> ")
            try await terminal.type("stty -g >after; cmp before after; echo settings=$?\n")
            try await terminal.wait(for: "\nsettings=0\n")
            try await terminal.type("fg\n")
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "alice@EXAMPLE.TEST is signed in until ")
            try await terminal.wait(for: "ready> ")
            try await terminal.type("stty -g >after; cmp before after; echo settings=$?\n")
            try await terminal.wait(for: "\nsettings=0\n")
            try await terminal.type("exit\n")
        }
        #expect(!transcript.contains("top-secret"))
    }

    /// A process in the background cannot use the terminal, so ksso stops, and prompts once it is in the foreground.
    @Test func `ksso login prompts only in the foreground`() async throws {
        _ = try await atTerminal("dash -i") { terminal in
            try await terminal.wait(for: "ready> ")
            try await terminal.type("ksso login alice &\n")
            try await terminal.wait(for: "ready> ")
            try await eventually { visibleStates(of: "ksso\0login\0alice", in: station.directory) == ["T"] }
            try await terminal.type("fg\n")
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "alice@EXAMPLE.TEST is signed in until ")
            try await terminal.type("exit\n")
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `a signal from another process ends the prompt and restores the terminal`(signal: Int32) async throws {
        _ = try await atTerminal(guarded("sh -c 'echo pid=$$.; exec ksso login alice'")) { terminal in
            try await terminal.wait(for: "pid=")
            let process = try #require(Int32(try await terminal.wait(for: ".").dropLast()))
            try await terminal.wait(for: Self.prompt)
            kill(process, signal)
            try await terminal.wait(for: "status=\(128 + signal)\n")
            try await terminal.wait(for: "settings=0\n")
        }
    }

    /// Without `--foreground`, `timeout` runs a command in the background, where it cannot prompt and stops.
    @Test(arguments: ["timeout -k 10 1", "timeout --foreground -k 10 1"])
    func `timeout ends the prompt and restores the terminal`(timeout: String) async throws {
        let transcript = try await atTerminal(guarded("\(timeout) ksso login alice") + "; stty -a | tr -s ' ;' '\\n' | grep echo$") {
            terminal in
            try await terminal.wait(for: "status=124\nsettings=0\n")
        }
        #expect(transcript.hasSuffix("settings=0\necho\n"), "\(transcript)")
    }

    @Test func `the prompt goes to the terminal, not to standard output or standard error`() async throws {
        _ = try await atTerminal(guarded("ksso login alice >output 2>errors </dev/null")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
        let output = try String(contentsOfFile: "\(station.directory)/output", encoding: .utf8)
        #expect(output.withoutTimes == "alice@EXAMPLE.TEST is signed in until TIME LEFT, in \(station.cache).\n")
        // Checks the size, because Foundation leaks its buffer when it reads an empty file.
        let errors = try FileManager.default.attributesOfItem(atPath: "\(station.directory)/errors")
        #expect(errors[.size] as? Int == 0)
    }

    /// The prompt is for the profile's `principalName`, or else for `$USER`.
    @Test(.serialized, arguments: [["principalName: alice"], []])
    func `ksso fetch prompts for the password at a terminal`(data: [String]) async throws {
        try await withProtectedWebServer(realm: realm) { server in
            try station.install(profile(data: data))
            let transcript = try await atTerminal(guarded("ksso fetch \(server.url)/hello")) { terminal in
                try await terminal.wait(for: Self.prompt)
                try await terminal.type("top-secret\n")
                try await terminal.wait(for: "status=0\nsettings=0\n")
            }
            #expect(transcript.hasPrefix("\(Self.prompt)\nHello alice@EXAMPLE.TEST\n"))
        }
    }
}
