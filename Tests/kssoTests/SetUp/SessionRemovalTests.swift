import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso configure session --uninstall`, and the notices about programs that a configured session does not reach.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct SessionRemovalTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var environmentFile: String { "\(station.directory)/config/environment.d/60-ksso.conf" }
    private var profileFile: String { "\(station.directory)/.profile" }
    private static let nothing = "The session is not configured; nothing was removed.\n"

    private func configure(_ options: String..., environment: [String: String] = [:]) async throws -> CommandResult {
        try await station.run(["ksso", "configure", "session"] + options, environment: environment)
    }

    private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test func `--uninstall keeps the lines before and after those of ksso`() async throws {
        let path = try station.write("one\n", to: ".profile")
        #expect(try await configure("--install").exitStatus == 0)
        try (contents(path) + "two\n").write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let result = try await configure("--uninstall")
        #expect(result == .done("\(environmentFile): removed\n\(path): the lines of ksso were removed\n"))
        #expect(try contents(path) == "one\ntwo\n")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try await configure("--uninstall") == .done(Self.nothing))
    }

    /// Since the installation, the user has changed the login shell, or has created a file that bash prefers.
    @Test(arguments: [("/bin/bash", ".bash_profile"), ("/usr/bin/zsh", ".zprofile")])
    func `--uninstall finds the lines in the profile of another login shell`(shell: String, other: String) async throws {
        #expect(try await configure("--install").exitStatus == 0)
        try station.write("umask 022\n", to: other)
        let result = try await configure("--uninstall", environment: ["SHELL": shell])
        #expect(result.output == "\(environmentFile): removed\n\(profileFile): removed\n", "\(result)")
        #expect(try contents("\(station.directory)/\(other)") == "umask 022\n")
    }

    @Test func `--uninstall removes the file for fish from another shell`() async throws {
        let file = "\(station.directory)/config/fish/conf.d/ksso.fish"
        #expect(try await configure("--install", environment: ["SHELL": "/usr/bin/fish"]).output.contains("\(file): written\n"))
        #expect(try await configure("--uninstall").output == "\(environmentFile): removed\n\(file): removed\n")
    }

    @Test func `--uninstall keeps a file that ksso did not create, and a symbolic link`() async throws {
        let target = try station.write("", to: "dotfile")
        try FileManager.default.createSymbolicLink(atPath: profileFile, withDestinationPath: target)
        #expect(try await configure("--install").exitStatus == 0)
        try station.write("KRB5_CONFIG=/mine\n", to: "config/environment.d/60-ksso.conf")
        #expect(try await configure("--uninstall") == .done("\(profileFile): the lines of ksso were removed\n"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: profileFile) == target)
        #expect(try contents(target) == "" && contents(environmentFile) == "KRB5_CONFIG=/mine\n")
    }

    /// A unit that is enabled without the files of ksso was enabled by hand.
    @Test func `under systemd, --uninstall disables the agent's socket unit if it removes something`() async throws {
        let calls = "\(station.directory)/calls"
        let script = try station.write("#!/bin/sh\necho \"$*\" >>\(calls)\n", to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        #expect(try await configure("--uninstall") == .done(Self.nothing))
        #expect(try !contents(calls).contains("disable"))
        #expect(try await configure("--install").exitStatus == 0)
        let result = try await configure("--uninstall")
        #expect(result.exitStatus == 0 && result.output.hasSuffix("ksso-agent.socket: disabled\n"), "\(result)")
        #expect(try contents(calls).hasSuffix("--user disable ksso-agent.socket\n"))
    }

    @Test func `--uninstall can be repeated after systemd failed to disable the unit`() async throws {
        let fault = "\(station.directory)/fault"
        let script = try station.write("#!/bin/sh\ncase $2 in disable) test ! -e \(fault) ;; esac\n", to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        #expect(try await configure("--install").exitStatus == 0)
        try station.write("", to: "fault")
        let advice = "See: systemctl --user disable ksso-agent.socket"
        let failed = try await configure("--uninstall")
        #expect(failed == .failure(1, "the agent's sockets cannot be disabled, so nothing was removed. \(advice)"))
        try FileManager.default.removeItem(atPath: fault)
        let result = try await configure("--uninstall")
        #expect(result == .done("\(environmentFile): removed\n\(profileFile): removed\nksso-agent.socket: disabled\n"))
    }

    /// The command that only configures the session is a request to enable it.
    @Test func `ksso setup does not enable a unit that was disabled since`() async throws {
        let calls = "\(station.directory)/calls"
        let script = "#!/bin/sh\necho \"$2\" >>\(calls)\ntest $2 != is-enabled\n"
        let program = try station.write(script, to: "bin/systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        try station.install(profile())
        #expect(try await configure("--install").exitStatus == 0)
        try station.write("", to: "calls")
        let result = try await station.ksso("setup", "--no-login")
        #expect(result.exitStatus == 0 && result.errors.contains("ksso-agent.socket is disabled. To enable it: "), "\(result)")
        #expect(try !contents(calls).contains("enable\n"))
        for command in [["setup", "--no-login", "--yes"], ["configure", "session", "--install"]] {
            try station.write("", to: "calls")
            #expect(try await station.run(["ksso"] + command).exitStatus == 0)
            #expect(try contents(calls).hasSuffix("enable\n"))
        }
    }

    @Test func `--uninstall names the command that stops a running agent`() async throws {
        try await station.withAgent { _ async throws in
            #expect(try await configure("--install").exitStatus == 0)
            let result = try await configure("--uninstall")
            #expect(result.errors == "Programs of this session use the agent until you log out. To stop it now: ksso agent stop\n")
        }
    }

    /// libkrb5 ignores the environment only in a program that runs as another user.
    @Test(
        .enabled(if: geteuid() == 0, "only root can create a setuid program of another user"),
        arguments: [
            (0o4755, 65534, "klist", true), (0o755, 65534, "klist", false), (0o4755, 0, "klist", false), (0o4755, 65534, "cat", false),
        ]
    )
    func `a notice names the setuid programs of other users that load libkrb5`(
        mode: Int,
        owner: UInt32,
        program: String,
        isAffected: Bool
    ) async throws {
        let path = "\(station.directory)/bin/affected"
        try FileManager.default.copyItem(atPath: Program.path(of: program), toPath: path)
        #expect(chown(path, owner, 0) == 0 && chmod(path, mode_t(mode)) == 0)
        let notice = "setuid programs cannot share the tickets, because libkrb5 ignores KRB5_CONFIG there: \(path)"
        #expect(try await configure().output.contains(notice) == isAffected)
        let installed = try await configure("--install")
        #expect(installed.errors.contains(notice) == isAffected && installed.errors.contains("setuid") == isAffected, "\(installed)")
        #expect(try await !configure("--install").errors.contains("setuid"), "nothing has changed")
    }
}
