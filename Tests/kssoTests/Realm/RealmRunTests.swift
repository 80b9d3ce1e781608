import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso realm run`: a private KDC from the command line.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct RealmRunTests {
    let station: Workstation
    let folder: RealmFolder

    init() throws {
        station = try Workstation()
        folder = try RealmFolder()
    }

    private var environment: [String: String] { folder.environment }

    /// Expects that neither a folder nor a process of the realm remains.
    private func expectNothingLeft(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try folder.contents == [], sourceLocation: sourceLocation)
        #expect(visibleArguments(of: "\(folder.path)/kerberos-testing") == [], sourceLocation: sourceLocation)
    }

    private func run(_ arguments: String..., input: String? = nil) async throws -> CommandResult {
        let result = try await station.run(["ksso", "realm", "run"] + arguments, input: input, environment: environment)
        try expectNothingLeft()
        return result
    }

    @Test func `the remedy of ksso doctor for the visibility check works in the realm`() async throws {
        let script = """
            export KSSO_RUNTIME_DIR='\(station.runtime)'
            ksso agent run --background >/dev/null
            trap 'ksso agent stop >/dev/null 2>&1' EXIT
            ksso doctor | sed -n '/visibility/,+1p'
            eval "$(ksso env)"
            ksso doctor | sed -n '/visibility/,+1p'
            """
        let result = try await folder.run(["--user", "alice:secret"], script: script, on: station)
        #expect(result.output.contains("! visibility: "), "\(result)")
        #expect(
            result.output.contains("    To share the tickets with this shell: eval \"$(ksso env)\"; with one program: ksso exec COMMAND\n"),
            "\(result)"
        )
        #expect(result.output.contains("✓ visibility: ") && !result.output.contains("configure session"), "\(result)")
    }

    /// Without this capability, as in a container, root does not see the sockets of a process of another account, such as Apache's.
    @Test(.enabled(if: geteuid() == 0, "only root runs Apache with another account"))
    func `ksso realm run --web works as root without CAP_SYS_PTRACE`() async throws {
        let setpriv = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
        let script = "curl -s -o /dev/null -w '%{http_code}' $KSSO_REALM_URL/hello"
        let command = setpriv + ["ksso", "realm", "run", "--user", "alice:secret", "--web", "--", "sh", "-c", script]
        let result = try await station.run(command, environment: environment)
        #expect(result.exitStatus == 0 && result.output == "401", "\(result)")
        try expectNothingLeft()
    }

    @Test(.enabled(if: geteuid() == 0, "only root runs Apache with another account"))
    func `as root, a TMPDIR that the web server's account cannot enter is named`() async throws {
        let closed = "\(folder.path)/closed"
        try FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let result = try await station.run(["ksso", "realm", "run", "--web", "--", "true"], environment: ["TMPDIR": closed])
        #expect(result.exitStatus == 1 && result.errors.contains("which cannot enter \(closed). Set TMPDIR to "), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: closed) == [])
        try FileManager.default.removeItem(atPath: closed)
        try expectNothingLeft()
    }

    @Test func `ksso realm run runs a command that can sign in to the realm`() async throws {
        let result = try await run(
            "--realm",
            "MINE.TEST",
            "--user",
            "carol:a:b c",
            "--",
            "sh",
            "-c",
            "ksso login carol --password-stdin && klist",
            input: "a:b c\n"
        )
        #expect(result.exitStatus == 0, "\(result)")
        #expect(result.output.contains("carol@MINE.TEST is signed in until "))
        #expect(result.output.contains("Default principal: carol@MINE.TEST"))
    }

    /// The realms of tests often have the same name.
    @Test func `the principals that the user has stored are not those of a test realm`() async throws {
        let file = try station.write("other@EXAMPLE.TEST\n", to: "config/ksso/principals")
        let script = "echo secret | ksso login --password-stdin && echo x | ksso login trent --password-stdin && klist -l"
        let result = try await run("--user", "alice:secret", "--user", "trent:x", "--", "sh", "-c", script)
        #expect(result.exitStatus == 0 && result.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(result)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "other@EXAMPLE.TEST\n")
    }

    @Test func `--service creates keys, which --keytab copies to a private file`() async throws {
        let keytab = "\(station.directory)/copy.keytab"
        let result = try await run(
            "--service",
            "HTTP/web.test",
            "--service",
            "host/web.test",
            "--keytab",
            keytab,
            "--",
            "klist",
            "-k",
            keytab
        )
        #expect(result.exitStatus == 0, "\(result)")
        #expect(result.output.contains("HTTP/web.test@EXAMPLE.TEST"))
        #expect(result.output.contains("host/web.test@EXAMPLE.TEST"))
        let mode = try FileManager.default.attributesOfItem(atPath: keytab)[.posixPermissions] as? NSNumber
        #expect(mode.map { $0.intValue & 0o077 } == 0, "others can read the keys")
    }

    @Test func `--web starts a protected web server`() async throws {
        let profile = try station.write(profile(), to: "profile.yaml")
        let script = "ksso login alice --password-stdin -q && ksso fetch --profile \(profile) $KSSO_REALM_URL/hello"
        #expect(
            try await run("--user", "alice:secret", "--web", "--", "sh", "-c", script, input: "secret\n")
                == .done("Hello alice@EXAMPLE.TEST\n")
        )
    }

    @Test func `the realm's own profile replaces the user's installed ones`() async throws {
        try station.install(profile(realm: "OTHER.TEST"))
        let script = "echo secret | ksso login alice --password-stdin -q && ksso fetch $KSSO_REALM_URL/hello"
        let result = try await run("--user", "alice:secret", "--web", "--", "sh", "-c", script)
        #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test func `a KSSO_PROFILE that the user has set stays set in the realm`() async throws {
        let path = try station.write(profile(), to: "mine.yaml")
        let command = ["ksso", "realm", "run", "--", "sh", "-c", "echo $KSSO_PROFILE"]
        let result = try await station.run(command, environment: environment.merging(["KSSO_PROFILE": path]) { $1 })
        #expect(result == .done("\(path)\n"))
    }

    /// This applies to the default cache and to the additional caches.
    @Test func `sessions inside and outside the realm are separate`() async throws {
        let outside = station.realm
        for name in ["outer", "second"] {
            try await outside.addUser(name, password: "secret")
            try await station.signIn(name)
        }
        let before = try await station.status()
        #expect(before.sessions.count == 2)
        #expect(try await run("--", "ksso", "status") == .failure(5, "not signed in. Sign in with: ksso login"))
        let script = "for user in alice carol; do echo secret | ksso login $user --password-stdin -q; done; ksso status; ksso logout --all"
        let inside = try await run("--user", "alice:secret", "--user", "carol:secret", "--", "sh", "-c", script)
        #expect(inside.exitStatus == 0, "\(inside)")
        #expect(inside.output.contains("carol@EXAMPLE.TEST (default): signed in until "))
        #expect(!inside.output.contains("outer@") && !inside.output.contains("second@"))
        #expect(try await station.status() == before)
    }

    @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)])
    func `ksso realm run exits with the status of its command`(script: String, status: Int) async throws {
        let result = try await run("--", "sh", "-c", script)
        #expect(result == CommandResult(exitStatus: status, output: "", errors: ""))
    }

    @Test func `ksso realm run exits with status 127 if the command is missing`() async throws {
        #expect(try await run("--", "no-such-program").exitStatus == 127)
        #expect(try await run("--", "/no/such").exitStatus == 127)
    }

    @Test func `ksso realm run exits with status 126 if the command cannot be started`() async throws {
        let plain = try station.write("text", to: "plain")
        let unknown = try station.write("text", to: "unknown")
        #expect(chmod(unknown, 0o700) == 0)
        for program in [plain, station.directory, unknown] {
            let result = try await run("--", program)
            #expect(result.exitStatus == 126, "\(result)")
            #expect(result.errors.hasPrefix("ksso: \(program): the program cannot be started: "), "\(result)")
        }
    }

    @Test(arguments: [
        ["--user", "alice"], ["--user", ":x"], ["--nonsense"], ["command"], ["--keytab", "/nonexistent/x"], ["--", ""],
        ["--realm", ""], ["--realm", "a b"], ["--realm", "../x"], ["--trust", "EXAMPLE.TEST->EXAMPLE.TEST"],
        ["--trust", "A->EXAMPLE.TEST"],
        ["--service", "a", "--service", "a"], ["--user", "x@y@EXAMPLE.TEST:z"], ["--user", "alice:a\tb"],
    ])
    func `after a usage error ksso realm run leaves nothing behind`(arguments: [String]) async throws {
        let result = try await station.run(["ksso", "realm", "run"] + arguments, environment: environment)
        #expect(result.exitStatus == 64)
        #expect(result.output == "")
        try expectNothingLeft()
    }

    @Test func `an error about a user that kadmin rejects does not print the password`() async throws {
        let result = try await run("--user", "alice:line\nbreak", "--", "true")
        #expect(result.exitStatus == 64)
        #expect(result.errors.contains("the password of alice contains a control character"), "\(result.errors)")
        #expect(!result.errors.contains("break"))
    }

    @Test func `ksso realm run reports a keytab that cannot be written`() async throws {
        let result = try await run("--service", "HTTP/web.test", "--keytab", "/nonexistent/x", "--", "true")
        #expect(result == .failure(1, "/nonexistent/x: the file cannot be written (No such file or directory)."))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `without a command the realm runs until it is interrupted`(signal: Int32) async throws {
        let (status, _) = try await Conversation.with(
            ["ksso", "realm", "run", "--user", "alice:secret"],
            on: station,
            environment: environment
        ) { realm in
            try await realm.wait(for: "EXAMPLE.TEST is running until interrupted (Ctrl-C).\n")
            let exports = realm.transcript.split(separator: "\n").filter { $0.hasPrefix("export ") }
            #expect(exports.contains { $0.hasPrefix("export KRB5_CONFIG='") })
            #expect(exports.contains { $0.hasPrefix("export KRB5CCNAME='FILE:") })
            let shell = "\(exports.joined(separator: "\n"))\nksso login alice --password-stdin -q && klist -s"
            #expect(try await station.run(["sh", "-c", shell], input: "secret\n") == .done(""))
            kill(realm.process, signal)
        }
        #expect(status == 0)
        try expectNothingLeft()
    }

    @Test func `without a command ksso realm run says what to try`() async throws {
        let command = ["ksso", "realm", "run", "--realm", "A.TEST", "--realm", "B.TEST", "--user", "bob:b", "--user", "alice:a", "--web"]
        let (_, transcript) = try await Conversation.with(command, on: station, environment: environment) { realm in
            try await realm.wait(for: "A.TEST, B.TEST are running until interrupted (Ctrl-C).\n")
            kill(realm.process, SIGINT)
        }
        let url = try #require(transcript.firstMatch(of: /export KSSO_REALM_URL='(.*)'/)?.1)
        let notes = transcript.split(separator: "\n").filter { !$0.hasPrefix("export ") }
        #expect(
            notes == [
                "A.TEST has the users alice, bob.", "B.TEST has no user. To add one, use: --user alice:secret",
                "In another shell, run the printed exports, then try:", "    ksso login alice", "    ksso fetch \(url)/hello",
                "A.TEST, B.TEST are running until interrupted (Ctrl-C).",
            ]
        )
    }

    @Test func `a killed ksso realm run leaves no files and no processes`() async throws {
        let (status, _) = try await Conversation.with(["ksso", "realm", "run", "--web"], on: station, environment: environment) { realm in
            try await realm.wait(for: "is running until interrupted")
            kill(realm.process, SIGKILL)
        }
        #expect(status == 137)
        // Separate watcher processes clean up.
        try await eventually { try folder.contents == [] }
        try await eventually { visibleArguments(of: "\(folder.path)/kerberos-testing").isEmpty }
        try expectNothingLeft()
    }

    /// The terminal sends the signal to the command too, and the realm stops with the command.
    @Test func `Ctrl-C stops the command and the realm`() async throws {
        let command = "trap : INT; ksso realm run -- sh -c 'echo ready; exec cat'; echo status=$?"
        let (_, transcript) = try await Conversation.atTerminal(command, on: station, environment: environment) { terminal in
            try await terminal.wait(for: "ready\n")
            try await terminal.type("\u{03}")
            try await terminal.wait(for: "status=130\n")
        }
        #expect(transcript.contains("status=130"))
        try expectNothingLeft()
    }
}
