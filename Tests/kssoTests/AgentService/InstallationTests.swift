import ExtensionProfile
import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The files that `make install` installs.
@Suite(.testRealm())
struct InstallationTests {
    let station: Workstation
    private var prefix: String { "\(station.directory)/usr" }

    init() throws {
        station = try Workstation()
    }

    private func install(destination: String = "") async throws {
        let script = repositoryFile("Scripts/install-files")
        #expect(try await station.run([script, CommandBinary.path(), prefix, destination]) == .done(""))
    }

    @Test func `DESTDIR precedes every installed path and appears in no installed file`() async throws {
        let destination = "\(station.directory)/stage"
        try await install(destination: destination)
        let files = ["bin/ksso", "lib/systemd/user/ksso-agent.service", "share/man/man1/ksso.1.gz", "share/zsh/site-functions/_ksso"]
        for file in files {
            #expect(FileManager.default.fileExists(atPath: "\(destination)\(prefix)/\(file)"), "\(file)")
        }
        #expect(!FileManager.default.fileExists(atPath: prefix))
        let named = try await station.run(["grep", "-rl", "--exclude=ksso", "-e", destination, "-e", "@BINDIR@", destination])
        #expect(named == CommandResult(exitStatus: 1, output: "", errors: ""))
        let unit = try String(contentsOfFile: "\(destination)\(prefix)/lib/systemd/user/ksso-agent.service", encoding: .utf8)
        #expect(unit.contains("\nExecStart=\(prefix)/bin/ksso agent run "))
    }

    @Test func `uninstalling removes every installed file and no other`() async throws {
        let script = repositoryFile("Scripts/install-files")
        let destination = "\(station.directory)/stage"
        let programs = try [CommandBinary.path(), CommandBinary.realmPath()]
        for program in programs { #expect(try await station.run([script, program, prefix, destination]) == .done("")) }
        let own = "\(destination)\(prefix)/share/man/man1/own.1.gz"
        try Data().write(to: URL(fileURLWithPath: own))
        for name in ["ksso", "ksso-realm"] {
            #expect(try await station.run([script, "--remove", name, prefix, destination]) == .done(""))
        }
        #expect(try await station.run(["find", destination, "!", "-type", "d"]) == .done("\(own)\n"))
    }

    @Test func `ksso-realm is installed with its manual page, and ksso realm finds it`() async throws {
        let script = repositoryFile("Scripts/install-files")
        let arguments = try [script, CommandBinary.realmPath(), prefix]
        #expect(try await station.run(arguments) == .done(""))
        let files = try await station.run(["find", prefix, "!", "-type", "d"]).output.split(separator: "\n").sorted()
        #expect(files == ["bin/ksso-realm", "share/man/man1/ksso-realm.1.gz"].map { "\(prefix)/\($0)" })
        try await install()
        let realm = try await station.run(["\(prefix)/bin/ksso", "realm", "run", "--", "true"])
        #expect(realm == .done(""))
        #expect(FileManager.default.fileExists(atPath: "\(prefix)/share/man/man1/ksso-realm.1.gz"))
    }

    @Test(.enabled(if: StockProgram.isInstalled("systemd-analyze"), "systemd-analyze is missing: package systemd"))
    func `systemd-analyze accepts the units without a warning`() async throws {
        try await install()
        // An unknown key is only a warning and leaves the status 0, so the output must be empty too.
        let verify = ["systemd-analyze", "verify", "--man=no"]
        let environment = ["XDG_RUNTIME_DIR": station.directory]
        let names = ["agent.service", "agent.socket", "agent-graphical.service", "agent-system.service", "proxy.service", "proxy.socket"]
        let user = names.map { "\(prefix)/lib/systemd/user/ksso-\($0)" }
        #expect(try await station.run(verify + ["--user"] + user, environment: environment) == .done(""))
        for name in ["ksso-agent@", "ksso-kcm"] {
            let system = ["service", "socket"].map { "\(prefix)/lib/systemd/system/\(name).\($0)" }
            #expect(try await station.run(verify + system) == .done(""))
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("systemd-analyze"), "systemd-analyze is missing: package systemd"))
    func `the exposure level of each system unit is below its limit`() async throws {
        try await install()
        for (name, limit) in [("ksso-agent@", 2.5), ("ksso-kcm", 1.5)] { try await expectExposure(of: name, below: limit) }
    }

    private func expectExposure(of name: String, below limit: Double) async throws {
        let unit = "\(prefix)/lib/systemd/system/\(name).service"
        let result = try await station.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit])
        let line = try #require(result.output.firstMatch(of: /Overall exposure level for .*: ([0-9.]+)/), "\(result)")
        let exposure = try #require(Double(line.1))
        #expect(exposure < limit, "\(name)")
    }

    @Test(.enabled(if: StockProgram.isInstalled("man"), "man is missing: package man-db"))
    func `the manual page renders without warnings and describes every command`() async throws {
        try await install()
        let page = try await station.run(
            ["man", "--warnings", "-l", "\(prefix)/share/man/man1/ksso.1.gz"],
            environment: ["MANWIDTH": "100"]
        )
        #expect(page.exitStatus == 0 && page.errors == "", "\(page)")
        let help = try await station.ksso("--help").output
        let commands = help.split(separator: "\n").compactMap { $0.firstMatch(of: /^  ([a-z]+) {2,}/).map { String($0.1) } }
        #expect(commands.contains("login"))
        for command in commands {
            #expect(page.output.contains("\n       \(command) ") || page.output.contains("\n       \(command)\n"), "\(command)")
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("man"), "man is missing: package man-db"))
    func `the manual page of profiles renders without warnings and describes every key`() async throws {
        try await install()
        let page = try await station.run(
            ["man", "--warnings", "-l", "\(prefix)/share/man/man5/ksso-profile.5.gz"],
            environment: ["MANWIDTH": "100"]
        )
        #expect(page.exitStatus == 0 && page.errors == "", "\(page)")
        for key in ProfileKey.all where key.place != .envelope {
            let entry = "\n       \(key.name)"
            #expect(page.output.contains("\(entry) ") || page.output.contains("\(entry)\n"), "\(key.name)")
        }
    }

    @Test func `bash completes the name of a command`() async throws {
        try await install()
        let script = """
            source "$0"
            COMP_WORDS=(ksso sta); COMP_CWORD=1; COMP_LINE='ksso sta'; COMP_POINT=8
            complete -p ksso
            _ksso ksso sta ksso && echo "${COMPREPLY[@]}"
            """
        let file = "\(prefix)/share/bash-completion/completions/ksso"
        let result = try await station.run(["bash", "-c", script, file])
        #expect(result == .done("complete -o filenames -F __ksso_complete_line ksso\nstatus\n"))
    }
}
