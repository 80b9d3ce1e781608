import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso configure session` writes the files that make all programs of a login session share the tickets.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"]), .timeLimit(.minutes(5)))
struct ConfigureSessionTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var environmentFile: String { "\(station.directory)/config/environment.d/60-ksso.conf" }
    private var profileFile: String { "\(station.directory)/.profile" }
    private static let mark = "# >>> ksso >>> made by: ksso configure session --install\n"
    private static let endMark = "# <<< ksso <<<\n"

    private func configure(_ options: String..., environment: [String: String] = [:]) async throws -> CommandResult {
        try await station.run(["ksso", "configure", "session"] + options, environment: environment)
    }

    private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Removes the variables that isolate the tests' commands, because a user's environment has none of them.
    private let plain = ["env", "-u", "KSSO_RUNTIME_DIR", "-u", "KRB5CCNAME"]

    @Test func `ksso configure session prints exactly what --install writes`() async throws {
        let printed = try await configure()
        #expect(printed.exitStatus == 0)
        #expect(printed.output.hasPrefix("# \(environmentFile)\n\(Self.mark)KRB5_CONFIG="))
        #expect(printed.output.contains("# \(profileFile)\n"))
        #expect(!FileManager.default.fileExists(atPath: environmentFile) && !FileManager.default.fileExists(atPath: profileFile))
        let installed = try await configure("--install")
        #expect(installed.output == "\(environmentFile): written\n\(profileFile): written\n", "\(installed)")
        #expect(installed.errors.hasPrefix("Log in again, so that all programs share the tickets. To share the tickets with this shell: "))
        let help = try await configure("--help").output
        for word in ["setuid programs", "rpc.gssd", "snaps"] { #expect(help.contains(word)) }
        for path in [environmentFile, profileFile] { #expect(try printed.output.contains(contents(path))) }
    }

    @Test func `the environment.d file puts the agent's krb5.conf first in KRB5_CONFIG`() async throws {
        let printed = try await station.run(plain + ["ksso", "configure", "session"])
        #expect(printed.output.contains("\nKRB5_CONFIG=${XDG_RUNTIME_DIR}/ksso/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf}\n"))
        let named = try await configure()
        #expect(named.output.contains("\nKRB5_CONFIG=\(station.runtime)/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf}\n"))
    }

    private static let generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"

    /// systemd reads the file for graphical programs and services. KRB5_CONFIG is unset or already has a value.
    @Test(.enabled(if: access(generator, X_OK) == 0, "systemd is not installed"), arguments: [nil, "/etc/corp.conf:/etc/krb5.conf"])
    func `systemd's generator extends KRB5_CONFIG by the environment.d file`(before: String?) async throws {
        #expect(try await station.run(plain + ["ksso", "configure", "session", "--install"]).exitStatus == 0)
        let value = before.map { ["KRB5_CONFIG=\($0)"] } ?? ["-u", "KRB5_CONFIG"]
        let words = plain + ["env"] + value + [Self.generator]
        let result = try await station.run(words, environment: ["XDG_RUNTIME_DIR": "/run/user/7"])
        let expected = "KRB5_CONFIG=/run/user/7/ksso/krb5.conf:\(before ?? "/etc/krb5.conf")"
        #expect(result.output.split(separator: "\n").contains { $0 == expected }, "\(result)")
    }

    @Test func `--install keeps the content and the permissions of an existing shell profile`() async throws {
        let own = try station.write("export EDITOR=vi # caf\u{e9}", to: ".profile")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: own)).dropLast(2) + [0xE9]
        try Data(bytes).write(to: URL(fileURLWithPath: own))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: own)
        #expect(try await configure("--install").exitStatus == 0)
        let first = try Data(contentsOf: URL(fileURLWithPath: own))
        #expect(first.starts(with: bytes + [10] + Data(Self.mark.utf8)))
        #expect(try FileManager.default.attributesOfItem(atPath: own)[.posixPermissions] as? Int == 0o640)
        // A second installation changes nothing, and text after the block is kept too.
        #expect(try await configure("--install").output == "\(environmentFile): up to date\n\(own): up to date\n")
        try (first + Data("umask 077\n".utf8)).write(to: URL(fileURLWithPath: own))
        let changed = try Data(contentsOf: URL(fileURLWithPath: own))
        #expect(try await configure("--install").exitStatus == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: own)) == changed)
    }

    @Test func `--install replaces an older ksso block in the shell profile`() async throws {
        let path = try station.write("one\n\(Self.mark)old\n\(Self.endMark)two\n", to: ".profile")
        #expect(try await configure("--install").exitStatus == 0)
        let text = try contents(path)
        #expect(text.hasPrefix("one\n\(Self.mark)") && text.hasSuffix("\(Self.endMark)two\n") && !text.contains("old"))
        #expect(text.components(separatedBy: Self.mark).count == 2)
    }

    @Test func `--install refuses to overwrite a file that ksso did not create`() async throws {
        try FileManager.default.createDirectory(atPath: "\(station.directory)/config/environment.d", withIntermediateDirectories: true)
        try station.write("KRB5_CONFIG=/mine\n", to: "config/environment.d/60-ksso.conf")
        #expect(
            try await configure("--install")
                == .failure(1, "\(environmentFile): the file was not created by ksso. Move it to another folder.")
        )
        #expect(try contents(environmentFile) == "KRB5_CONFIG=/mine\n")
    }

    @Test func `--install refuses a shell profile whose ksso block has no end mark`() async throws {
        let path = try station.write("\(Self.mark)umask 077\n", to: ".profile")
        let result = try await configure("--install")
        #expect(result.exitStatus == 1 && result.errors.contains("# <<< ksso <<<"))
        #expect(try contents(path) == "\(Self.mark)umask 077\n")
    }

    @Test func `--install writes through a shell profile that is a symbolic link`() async throws {
        let path = try station.write("one\n", to: "dotfile")
        try FileManager.default.createSymbolicLink(atPath: profileFile, withDestinationPath: path)
        #expect(try await configure("--install").exitStatus == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: profileFile) == path)
        #expect(try contents(path).hasPrefix("one\n\(Self.mark)"))
    }

    @Test(arguments: [
        ("/bin/bash", [".profile"], ".profile"), ("/bin/bash", [".profile", ".bash_profile"], ".bash_profile"),
        ("/bin/bash", [], ".profile"), ("/usr/bin/zsh", [".profile"], ".zprofile"), ("/bin/dash", [".bash_profile"], ".profile"),
        ("/usr/bin/fish", [".profile"], "config/fish/conf.d/ksso.fish"),
    ])
    func `--install writes to the profile that the login shell reads`(shell: String, present: [String], expected: String) async throws {
        for name in present { try station.write("", to: name) }
        let result = try await configure("--install", environment: ["SHELL": shell])
        #expect(result.output.contains("\n\(station.directory)/\(expected): written\n"), "\(result)")
    }

    /// The complete set-up of a user without systemd: the shell profile starts the agent.
    @Test(arguments: ["dash", "bash"])
    func `without systemd, a login shell starts the agent and its programs share the tickets`(shell: String) async throws {
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let variables = ["XDG_RUNTIME_DIR": folder]
        let own = ["env", "-u", "KSSO_RUNTIME_DIR"]
        // Debian's /etc/profile resets PATH.
        try station.write("PATH=\(station.directory)/bin:$PATH\n", to: ".profile")
        #expect(try await station.run(own + ["ksso", "configure", "session", "--install"], environment: variables).exitStatus == 0)
        let check = try await station.run(own + ["ksso", "configure", "session", "--check"], environment: variables)
        #expect(check.exitStatus == 1 && check.output.contains("missing: an agent"), "\(check)")
        #expect(check.output.contains("missing: \(folder)/ksso/krb5.conf in KRB5_CONFIG"))
        func login(_ command: String, input: String? = nil) async throws -> CommandResult {
            try await station.run(own + [shell, "-l", "-c", command], input: input, environment: variables)
        }
        do {
            #expect(try await login("kinit alice >/dev/null", input: "secret\n") == .done(""))
            let list = try await login("klist")
            #expect(list.output.hasPrefix("Ticket cache: KCM:"), "\(list)")
            #expect(list.output.contains("\nDefault principal: alice@EXAMPLE.TEST\n"))
            let names = "echo $KRB5_CONFIG; echo ${KRB5CCNAME-none}"
            let expected = "\(folder)/ksso/krb5.conf:\(station.realm.configurationPath)\nnone\n"
            #expect(try await login(names) == .done(expected))
            #expect(try await login("\(shell) -l -c '\(names)'") == .done(expected))
            #expect(try await login("ksso configure session --check").exitStatus == 0)
            #expect(try await login("ksso agent stop").output == "The agent has stopped.\n")
        } catch {
            _ = try? await login("ksso agent stop")
            throw error
        }
    }

    @Test func `a login shell of fish starts the agent and its programs share the tickets`() async throws {
        guard StockProgram.isInstalled("fish") else { try Test.cancel("fish is not installed") }
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let variables = ["XDG_RUNTIME_DIR": folder, "SHELL": "/usr/bin/fish"]
        func run(_ words: String..., input: String? = nil) async throws -> CommandResult {
            try await station.run(plain + words, input: input, environment: variables)
        }
        #expect(try await run("ksso", "configure", "session", "--install").exitStatus == 0)
        do {
            #expect(try await run("fish", "-l", "-c", "kinit alice >/dev/null", input: "secret\n") == .done(""))
            let list = try await run("fish", "-l", "-c", "klist; ksso configure session --check")
            #expect(list.exitStatus == 0 && list.output.hasPrefix("Ticket cache: KCM:"), "\(list)")
            #expect(list.output.contains("\nDefault principal: alice@EXAMPLE.TEST\n"), "\(list)")
            // Other shells of the session inherit the variable; the file changes nothing there.
            #expect(try await !run("fish", "-c", "klist").output.hasPrefix("Ticket cache: KCM:"))
            // The tickets of a login go to the agent.
            let cache = "FILE:\(station.directory)/login"
            #expect(try await run("kinit", "-c", cache, "bob", input: "secret\n").exitStatus == 0)
            let login = try await run("env", "KRB5CCNAME=\(cache)", "fish", "-l", "-c", "klist -l; set -q KRB5CCNAME; or echo unset")
            #expect(login.output.contains("bob@EXAMPLE.TEST") && login.output.hasSuffix("unset\n"), "\(login)")
            #expect(try await run("fish", "-l", "-c", "ksso agent stop").output == "The agent has stopped.\n")
        } catch {
            _ = try? await run("fish", "-l", "-c", "ksso agent stop")
            throw error
        }
    }

    /// PAM or ssh has stored a ticket in a file before the shell starts. The agent has been running since an earlier login.
    @Test(arguments: ["dash", "bash"])
    func `a login shell gives the login's ticket to the agent`(shell: String) async throws {
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let cache = "FILE:\(station.directory)/login"
        try station.write("PATH=\(station.directory)/bin:$PATH\n", to: ".profile")
        func login(_ command: String, cache: String) async throws -> CommandResult {
            let words = ["env", "-u", "KSSO_RUNTIME_DIR", shell, "-l", "-c", command]
            return try await station.run(words, environment: ["XDG_RUNTIME_DIR": folder, "KRB5CCNAME": cache])
        }
        #expect(try await login("ksso configure session --install", cache: cache).exitStatus == 0)
        do {
            // The login's ticket cannot be read yet, so the shell keeps the name of its cache.
            #expect(try await login("echo ${KRB5CCNAME-none}", cache: cache) == .done("\(cache)\n"))
            #expect(try await station.run(["kinit", "-c", cache, "alice"], input: "secret\n").exitStatus == 0)
            let result = try await login("echo ${KRB5CCNAME-none}; klist", cache: cache)
            #expect(result.output.hasPrefix("none\nTicket cache: KCM:"), "\(result)")
            #expect(result.output.contains("\nDefault principal: alice@EXAMPLE.TEST\n"), "\(result)")
            // The program that created the cache also removes it.
            #expect(try await station.run(["klist", "-s", "-c", cache]).exitStatus == 0)
        } catch {
            _ = try? await login("ksso agent stop", cache: cache)
            throw error
        }
        #expect(try await login("ksso agent stop", cache: cache).output == "The agent has stopped.\n")
    }

    /// The shell profile then only queries the agent, which systemd starts at the first connection.
    @Test func `under systemd, --install enables the agent's socket unit`() async throws {
        let script = try station.write("#!/bin/sh\necho \"$*\" >>\(station.directory)/calls\n", to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let result = try await configure("--install")
        #expect(result.output.hasSuffix("ksso-agent.socket: enabled\n") && result.exitStatus == 0, "\(result)")
        #expect(try contents("\(station.directory)/calls").hasSuffix("--user enable --now ksso-agent.socket\n"))
        #expect(try contents(profileFile).contains("ksso agent status >/dev/null"))
        #expect(try !contents(profileFile).contains("agent run"))
    }

    /// The running agent owns the sockets that systemd is about to bind.
    @Test func `--install stops a manually started agent before it enables systemd's sockets`() async throws {
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let calls = "\(station.directory)/calls"
        let script = "#!/bin/sh\necho \"$*\" >>\(calls)\nif [ -S \(folder)/ksso/agent.sock ]; then echo served >>\(calls); fi\n"
        let program = try station.write(script, to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        func ksso(_ words: String...) async throws -> CommandResult {
            try await station.run(["env", "-u", "KSSO_RUNTIME_DIR", "ksso"] + words, environment: ["XDG_RUNTIME_DIR": folder])
        }
        #expect(try await ksso("agent", "run", "--background").exitStatus == 0)
        let result = try await ksso("configure", "session", "--install")
        #expect(result.exitStatus == 0 && result.output.contains(") has stopped, so that systemd can start it."), "\(result)")
        #expect(try contents(calls).hasSuffix("--user enable --now ksso-agent.socket\n"))
        if result.exitStatus != 0 { _ = try await ksso("agent", "stop") }
    }

    /// The ksso of the tests is in a folder that is not in a login shell's default PATH.
    @Test func `the shell profile runs ksso by its absolute path`() async throws {
        #expect(try await configure("--install").exitStatus == 0)
        #expect(try contents(profileFile).contains("\n\(station.directory)/bin/ksso agent run --background >/dev/null"))
        // The same program under another name accepts the profile.
        let other = "\(station.directory)/it's another"
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: CommandBinary.path())
        let check = try await station.run([other, "configure", "session", "--check"])
        #expect(check.output.contains("ok: \(profileFile)\n"), "\(check)")
    }

    @Test func `--check reports a shell profile whose ksso no longer exists`() async throws {
        let old = "\(station.directory)/it's old"
        try FileManager.default.createSymbolicLink(atPath: old, withDestinationPath: CommandBinary.path())
        let path = ["PATH": "/usr/bin:/bin"]
        #expect(try await station.run([old, "configure", "session", "--install"], environment: path).exitStatus == 0)
        #expect(try contents(profileFile).contains("\n'\(station.directory)/it'\\''s old' agent run --background >/dev/null"))
        #expect(try await configure("--check").output.contains("ok: \(profileFile)\n"))
        try FileManager.default.removeItem(atPath: old)
        let check = try await configure("--check")
        let sentence = "missing: \(profileFile) calls \(old), which does not exist: ksso configure session --install fixes it\n"
        #expect(check.exitStatus == 1 && check.output.contains(sentence), "\(check)")
        #expect(try await configure("--install").exitStatus == 0)
        #expect(try await configure("--check").output.contains("ok: \(profileFile)\n"))
    }

    /// The lines of the shell profile follow the same rule as ksso.
    @Test(arguments: ["dash", "bash"]) func `a relative KSSO_RUNTIME_DIR and a link are ignored`(shell: String) async throws {
        try await station.withAgent { _ async throws in
            let printed = try await configure()
            let lines = try #require(
                printed.output.components(separatedBy: "# \(profileFile)\n").last?.components(separatedBy: Self.endMark).first
            )
            // Without the line that starts an agent, which would run there too.
            let passive = lines.split(separator: "\n").filter { !$0.contains(" agent run ") }.joined(separator: "\n")
            let script = try station.write(passive + "\necho $KRB5_CONFIG\n", to: "script")
            let folder = "\(station.directory)/xdg"
            try FileManager.default.createDirectory(atPath: "\(folder)/ksso", withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: "\(station.runtime)/krb5.conf", toPath: "\(folder)/ksso/krb5.conf")
            let variables = ["KSSO_RUNTIME_DIR": "run", "XDG_RUNTIME_DIR": folder]
            let result = try await station.run([shell, script], environment: variables)
            #expect(result.output.hasPrefix("\(folder)/ksso/krb5.conf:"), "\(result)")
            // Another user could have created a link, and could replace it later.
            try FileManager.default.removeItem(atPath: "\(folder)/ksso")
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/ksso", withDestinationPath: station.runtime)
            let linked = try await station.run([shell, script], environment: variables)
            #expect(linked.exitStatus == 0 && !linked.output.contains("ksso/krb5.conf:"), "\(linked)")
        }
        let warned = try await station.ksso("status", environment: ["KSSO_RUNTIME_DIR": "run", "XDG_RUNTIME_DIR": station.directory])
        let sentence = "ksso: warning: KSSO_RUNTIME_DIR is “run”, which is not an absolute path: it is ignored.\n"
        #expect(warned.errors.hasPrefix(sentence), "\(warned)")
    }

    @Test(arguments: [["--install", "--check"], ["--install", "--uninstall"]])
    func `--install, --check and --uninstall are mutually exclusive`(options: [String]) async throws {
        #expect(try await station.run(["ksso", "configure", "session"] + options).exitStatus == 64)
    }
}
