import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso setup`, from a profile or a realm's name to the first protected page.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(5)))
struct SetupTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private func setup(_ words: String..., input: String? = nil) async throws -> CommandResult {
        try await station.run(["ksso", "setup"] + words, input: input)
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private var settings: String { "\(station.directory)/config/ksso" }

    @Test func `ksso setup installs a profile and signs in, so that ksso fetch works`() async throws {
        let file = try station.write(profile(), to: "corp.yaml")
        let first = try await setup(file, "--principal", "alice", "--password-stdin", "--yes", input: "secret\n")
        #expect(first.exitStatus == 0, "\(first)")
        #expect(first.output.hasPrefix("\(settings)/corp.yaml: installed\nalice@EXAMPLE.TEST is signed in until "), "\(first)")
        #expect(
            first.output.contains("environment.d/60-ksso.conf: written\n")
                && first.errors.contains("Try it with a page of localhost: ksso fetch URL")
        )
        #expect(first.output.hasSuffix("Checked: all checks of the realm passed. To check a page too: ksso doctor URL\n"), "\(first)")
        #expect(try mode("\(settings)/corp.yaml") == 0o600)
        try await withAcceptorServer(realm: station.realm) { server in
            let page = try await station.ksso("fetch", "http://localhost:\(server.port)/")
            #expect(page == .done("Hello alice@EXAMPLE.TEST\n"))
        }
        // A second run finds everything in place and needs no password.
        for words in [[file], []] {
            let again = try await station.run(["ksso", "setup"] + words)
            #expect(again.exitStatus == 0 && again.output.contains("alice@EXAMPLE.TEST is signed in already"), "\(again)")
            #expect(again.output.contains("environment.d/60-ksso.conf: up to date\n"))
        }
    }

    @Test func `ksso setup counts the warnings of its final check`() async throws {
        let file = try station.write(profile(), to: "corp.yaml")
        // This causes one warning: programs started from here use the cache in KRB5CCNAME, which is not the agent's.
        try await station.withAgent { _ async throws in
            let result = try await setup(file, "--principal", "alice", "--password-stdin", input: "secret\n")
            #expect(result.exitStatus == 0, "\(result)")
            #expect(
                result.output.hasSuffix("Checked: no check failed, with 1 warning. To check a page too: ksso doctor URL\n"),
                "\(result)"
            )
        }
    }

    /// The files of such a realm are temporary, so the user's permanent home must not refer to them.
    @Test func `inside ksso realm run, ksso setup does not change the user's home`() async throws {
        let before = try FileManager.default.subpathsOfDirectory(atPath: station.directory)
        let script = """
            ksso setup --realm EXAMPLE.TEST --host localhost --no-login || echo setup=$?
            ksso configure session --install || echo session=$?
            """
        let result = try await RealmFolder().run(["--user", "alice:secret"], script: script, on: station)
        let sentence =
            "ksso: this shell runs in a realm of ksso realm run, whose files are temporary, "
            + "so your home is not configured for it. ksso login works here; "
            + "run this command outside the realm.\n"
        #expect(result == CommandResult(exitStatus: 0, output: "setup=1\nsession=1\n", errors: sentence + sentence))
        #expect(try FileManager.default.subpathsOfDirectory(atPath: station.directory) == before)
    }

    /// All files are written. The error is the first one that ksso doctor would print.
    @Test func `ksso setup reports the first check that fails and exits with status 1`() async throws {
        try await station.realm.addUser("bob", password: "secret")
        let file = try station.write(profile(data: ["principalName: bob"]), to: "corp.yaml")
        let result = try await setup(file, "--principal", "alice", "--password-stdin", "--yes", input: "secret\n")
        #expect(result.exitStatus == 1 && result.output.contains("environment.d/60-ksso.conf: written\n"), "\(result)")
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(
            lines.suffix(2) == [
                "ksso: the setup is complete, but the check session failed: bob@EXAMPLE.TEST is not signed in.",
                "    Sign in: ksso login bob@EXAMPLE.TEST",
            ]
        )
        #expect(!result.output.contains("Checked") && !result.errors.contains("Try it"))
    }

    /// The running agent owns the sockets that systemd is about to bind.
    @Test func `ksso setup stops a manually started agent before it enables systemd's sockets`() async throws {
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let calls = "\(station.directory)/calls"
        let script = "#!/bin/sh\necho \"$*\" >>\(calls)\nif [ -S \(folder)/ksso/agent.sock ]; then echo served >>\(calls); fi\n"
        let program = try station.write(script, to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        func ksso(_ words: String...) async throws -> CommandResult {
            try await station.run(["env", "-u", "KSSO_RUNTIME_DIR", "ksso"] + words, environment: ["XDG_RUNTIME_DIR": folder])
        }
        let file = try station.write(profile(), to: "corp.yaml")
        #expect(try await ksso("agent", "run", "--background").exitStatus == 0)
        let result = try await ksso("setup", file, "--no-login", "--yes")
        #expect(result.exitStatus == 0 && result.output.contains(") has stopped, so that systemd can start it."), "\(result)")
        #expect(try String(contentsOfFile: calls, encoding: .utf8).hasSuffix("--user enable --now ksso-agent.socket\n"))
        if UnixSocket.isServed("\(folder)/ksso/agent.sock") { _ = try await ksso("agent", "stop") }
    }

    @Test func `ksso setup --no-login runs no checks`() async throws {
        let result = try await setup(try station.write(profile(), to: "corp.yaml"), "--no-login")
        #expect(result.exitStatus == 0 && !result.output.contains("Checked"), "\(result)")
    }

    @Test func `ksso setup creates a profile from a realm and hosts`() async throws {
        let made = try await setup("--realm", "EXAMPLE.TEST", "--host", ".corp.test", "--host", "it's.test", "--no-login")
        #expect(made.exitStatus == 64 && made.errors.contains("the character “'”") && made.errors.contains("--host: "), "\(made)")
        #expect(!FileManager.default.fileExists(atPath: "\(settings)/example.test.yaml"))
        let words = ["--realm", "EXAMPLE.TEST", "--host", ".corp.test", "--host", "localhost", "--principal", "alice", "--password-stdin"]
        let second = try await station.run(["ksso", "setup"] + words, input: "secret\n")
        #expect(second.exitStatus == 0 && second.output.hasPrefix("\(settings)/example.test.yaml: installed\n"), "\(second)")
        let check = try await station.ksso("profile", "check", "\(settings)/example.test.yaml")
        #expect(check.exitStatus == 0, "\(check)")
        let shown = try await station.ksso("profile", "show").output
        #expect(shown.contains("    hosts: .corp.test localhost\n") && shown.contains("    principal: alice\n"), "\(shown)")
    }

    @Test func `a host rule that covers many organizations is installed with a warning`() async throws {
        let result = try await setup("--realm", "EXAMPLE.TEST", "--host", ".com", "--no-login")
        #expect(
            result.exitStatus == 0 && result.errors.contains("warning: .com covers the domains of every organization under it"),
            "\(result)"
        )
    }

    @Test func `ksso setup overwrites another profile only with --force`() async throws {
        let present = try station.install(profile(hosts: ["a.test"]), as: "corp.yaml")
        let file = try station.write(profile(hosts: ["b.test"]), to: "corp.yaml")
        let refused = try await setup(file, "--no-login")
        #expect(refused == .failure(1, "\(present): another profile has this name. To replace it, use: ksso setup --force \(file)"))
        #expect(try String(contentsOfFile: present, encoding: .utf8) == profile(hosts: ["a.test"]))
        let replaced = try await setup(file, "--no-login", "--force")
        #expect(replaced.exitStatus == 0 && replaced.output.hasPrefix("\(present): replaced\n"), "\(replaced)")
    }

    /// One profile has an invalid value, the other a host of an installed profile. Neither leaves a file behind.
    @Test(arguments: [("Realm: 5", "Realm: Found an integer"), ("Hosts: [a.test]", "is also in")])
    func `ksso setup does not install an unusable profile`(line: String, message: String) async throws {
        try station.install(profile(hosts: ["a.test"]), as: "present.yaml")
        let key = line.prefix { $0 != ":" }
        let lines = profile(hosts: ["b.test"]).components(separatedBy: "\n").map { $0.hasPrefix("\(key):") ? line : $0 }
        let file = try station.write(lines.joined(separator: "\n"), to: "new.yaml")
        let result = try await setup(file, "--no-login")
        #expect(result.exitStatus == 1 && result.errors.contains(message) && result.output == "", "\(result)")
        // An invalid value is reported with the path of its file.
        #expect(result.errors.hasPrefix("ksso: ") && (key != "Realm" || result.errors.contains(file)), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: settings) == ["present.yaml"])
    }

    /// The new name comes after the old one, or before it, so that the old profile would be the one that is rejected.
    @Test(arguments: ["corp-2.yaml", "a.yaml"])
    func `a renamed profile is refused with the commands that replace the former one`(name: String) async throws {
        let former = try station.install(profile(hosts: ["a.test", "b.test"]), as: "corp.yaml")
        let file = try station.write(profile(hosts: ["b.test", "c.test"]), to: name)
        let remedy = "ksso profile remove corp.yaml && ksso setup \(file)"
        let result = try await setup(file, "--no-login")
        let reason = "the host b.test is also in \(former), and a host belongs to one profile."
        #expect(result == .failure(1, "\(settings)/\(name): \(reason) To replace that profile, use: \(remedy)"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: settings) == ["corp.yaml"])
        let replaced = try await station.run(["sh", "-c", "\(remedy) --no-login"])
        #expect(replaced.exitStatus == 0 && replaced.output.hasPrefix("\(former): removed\n"), "\(replaced)")
        #expect(replaced.output.contains("\n\(settings)/\(name): installed\n"), "\(replaced)")
    }

    @Test func `after a failed sign-in ksso setup reports misspelled keys and the remaining steps`() async throws {
        let file = try station.write(profile(data: ["principalNam: alice"]), to: "corp.yaml")
        let result = try await setup(file, "--principal", "alice", "--password-stdin", input: "wrong\n")
        #expect(result.exitStatus != 0 && result.output.hasPrefix("\(settings)/corp.yaml: installed\n"), "\(result)")
        #expect(result.errors.contains("principalNam: not a key; principalName is probably meant"), "\(result)")
        #expect(result.errors.contains("The profile is installed, but the session is not configured."), "\(result)")
    }

    @Test(arguments: [
        ["--realm", "A.TEST"], ["--host", "a.test"], ["x.yaml", "--realm", "A.TEST", "--host", "a.test"], ["--system"],
        ["--no-login", "--password-stdin"], [], ["--force"], ["x.yaml", "--yes", "--no-session"], ["--undo", "x.yaml"],
        ["--undo", "--yes"],
    ])
    func `invalid arguments of ksso setup are a usage error`(words: [String]) async throws {
        let result = try await station.run(["ksso", "setup"] + words)
        #expect(result.exitStatus == 64, "\(result)")
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/config/environment.d"))
    }

    @Test func `ksso setup refuses a missing file and an unknown file extension`() async throws {
        for file in ["/nonexistent.yaml", "/nonexistent.mobilconfig"] {
            #expect(try await setup(file).errors.contains("\(file): cannot be opened"))
        }
        let file = try station.write(profile(), to: "corp.txt")
        #expect(try await setup(file).errors.contains("a profile's file name must end in one of .mobileconfig, .yaml, .yml"))
    }
}
