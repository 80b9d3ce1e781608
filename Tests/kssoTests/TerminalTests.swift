import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The password prompt at a real terminal, each test with a pseudo-terminal of its own.
@Suite(.testRealm(users: ["alice": "top-secret"]), .timeLimit(.minutes(5)))
struct TerminalTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    private static let prompt = "Password for alice@EXAMPLE.TEST: "

    /// Runs a command between two looks at the terminal's settings; `settings=0` says that they are the same.
    ///
    /// The shell lives on when Ctrl-C is meant for the command.
    private func guarded(_ command: String) -> String {
        "trap : INT; stty -g >before; \(command); echo status=$?; stty -g >after; cmp before after; echo settings=$?"
    }

    private func atTerminal(_ command: String, _ body: (Conversation) async throws -> Void) async throws -> String {
        try await Conversation.atTerminal("cd \(station.directory); \(command)", on: station, body).transcript
    }

    @Test func `the password is not shown`() async throws {
        let transcript = try await atTerminal(guarded("ksso login alice") + "; read word") { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
            try await terminal.type("shown again\n")
        }
        let lines = transcript.withoutTimes.split(separator: "\n")
        #expect(
            lines == [
                "\(Self.prompt)"[...], "alice@EXAMPLE.TEST is signed in until TIME, in \(station.cache).", "status=0", "settings=0",
                "shown again",
            ]
        )
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `the profiles words stand above the prompt`() async throws {
        try station.install(profile(data: ["customUsernameLabel: Staff number", #"helpText: "Call 1234\e[2J""#]))
        let transcript = try await atTerminal(guarded("ksso login")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
        #expect(transcript.hasPrefix("Staff number: alice@EXAMPLE.TEST\nCall 1234\\u{1b}[2J\n\(Self.prompt)"), "\(transcript)")
    }

    @Test func `a wrong password is asked for once only`() async throws {
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

    @Test func `typing errors can be corrected`() async throws {
        _ = try await atTerminal(guarded("ksso login alice")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("nonsense\u{15}top-secreX\u{7F}t\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
    }

    /// Ctrl-C, Ctrl-D and, with a line begun, Ctrl-D twice.
    @Test(arguments: ["\u{03}", "top-se\u{03}", "\u{04}", "top-secret\u{04}\u{04}"])
    func `the user gives up`(keys: String) async throws {
        let transcript = try await atTerminal(guarded("ksso login alice")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type(keys)
            try await terminal.wait(for: "status=130\nsettings=0\n")
        }
        #expect(transcript.contains("\(Self.prompt)\nksso: alice@EXAMPLE.TEST: canceled.\n"), "\(transcript)")
        #expect(!transcript.contains("top-se"))
        #expect(try await realm.failedAttempts(of: "alice") == 0)
    }

    /// Bash puts the settings back itself when a job stops; dash does not, so there it is our doing.
    @Test(arguments: ["bash --norc -i", "dash -i"])
    func `it can be stopped and continued`(shell: String) async throws {
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

    /// In the background it may not touch the terminal: it stops, and asks in the foreground.
    @Test func `it asks only in the foreground`() async throws {
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
    func `a signal from outside restores the terminal`(signal: Int32) async throws {
        _ = try await atTerminal(guarded("sh -c 'echo pid=$$.; exec ksso login alice'")) { terminal in
            try await terminal.wait(for: "pid=")
            let process = try #require(Int32(try await terminal.wait(for: ".").dropLast()))
            try await terminal.wait(for: Self.prompt)
            kill(process, signal)
            try await terminal.wait(for: "status=\(128 + signal)\n")
            try await terminal.wait(for: "settings=0\n")
        }
    }

    /// `timeout` puts a command into the background, where it may not ask and stops, unless it is told otherwise.
    @Test(arguments: ["timeout -k 10 1", "timeout --foreground -k 10 1"])
    func `a time limit ends the prompt`(timeout: String) async throws {
        let transcript = try await atTerminal(guarded("\(timeout) ksso login alice") + "; stty -a | tr -s ' ;' '\\n' | grep echo$") {
            terminal in
            try await terminal.wait(for: "status=124\nsettings=0\n")
        }
        #expect(transcript.hasSuffix("settings=0\necho\n"), "\(transcript)")
    }

    @Test func `the prompt is no part of the output`() async throws {
        _ = try await atTerminal(guarded("ksso login alice >output 2>errors </dev/null")) { terminal in
            try await terminal.wait(for: Self.prompt)
            try await terminal.type("top-secret\n")
            try await terminal.wait(for: "status=0\nsettings=0\n")
        }
        let output = try String(contentsOfFile: "\(station.directory)/output", encoding: .utf8)
        #expect(output.withoutTimes == "alice@EXAMPLE.TEST is signed in until TIME, in \(station.cache).\n")
        // By its size: Foundation leaks its buffer for an empty file.
        let errors = try FileManager.default.attributesOfItem(atPath: "\(station.directory)/errors")
        #expect(errors[.size] as? Int == 0)
    }

    /// Asks whom the profile names, else `$USER`.
    @Test(.serialized, arguments: [["principalName: alice"], []])
    func `fetch asks where somebody sits`(data: [String]) async throws {
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
