import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// How `ksso realm` runs the separate program `ksso-realm`.
@Suite(.testRealm())
struct RealmProgramTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    /// Installs a script as `ksso-realm` in a folder.
    private func install(_ script: String, in folder: String) throws {
        let path = "\(station.directory)/\(folder)/ksso-realm"
        try FileManager.default.createDirectory(atPath: "\(station.directory)/\(folder)", withIntermediateDirectories: true)
        try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(chmod(path, 0o755) == 0)
    }

    /// Searches a binary for the name of the test kit's module, as Swift's mangled symbols contain it.
    private func containsTestKit(_ binary: String) async throws -> Bool {
        try await station.run(["grep", "-qaF", "15KerberosTesting", binary]).exitStatus == 0
    }

    @Test func `the ksso binary does not contain the test kit`() async throws {
        #expect(try await !containsTestKit(CommandBinary.path()))
        // The search finds the test kit where it is present.
        #expect(try await containsTestKit(CommandBinary.realmPath()))
    }

    @Test func `a missing ksso-realm is reported with its package`() async throws {
        _ = try await station.installProgram()
        for arguments in [["run", "--", "true"], ["--help"], []] {
            let result = try await station.run(["ksso", "realm"] + arguments)
            #expect(result == .failure(127, "ksso-realm is not installed: to use ksso realm, install the package ksso-realm."))
        }
    }

    @Test func `a ksso-realm that cannot be run is reported with the reason`() async throws {
        _ = try await station.installProgram()
        try install("exit 0", in: "bin")
        #expect(chmod("\(station.directory)/bin/ksso-realm", 0o644) == 0)
        #expect(try await station.ksso("realm", "run") == .failure(126, "ksso-realm: Permission denied"))
    }

    @Test func `arguments, exit status and environment pass through`() async throws {
        _ = try await station.installProgram()
        try install("printf '<%s>' \"$@\"; printf '%s' \"${LIBDISPATCH_LOG-unset}\"; echo no >&2; exit 7", in: "bin")
        let result = try await station.ksso("realm", "run", "-h", "-v", "a b", "--clock", "-90s", "--version", "--", "sh", "--", "--help")
        let words = "<run><-h><-v><a b><--clock><-90s><--version><--><sh><--><--help>"
        #expect(result == CommandResult(exitStatus: 7, output: "\(words)unset", errors: "no\n"))
        #expect(try await station.ksso("help", "realm", "run").output == "<help><run>unset")
    }

    @Test func `the program next to ksso precedes the one in PATH`() async throws {
        _ = try await station.installProgram()
        try install("echo path", in: "other")
        let path = "\(station.directory)/bin:\(station.directory)/other:/usr/bin:/bin"
        #expect(try await station.ksso("realm", environment: ["PATH": path]) == .done("path\n"))
        try install("echo next", in: "bin")
        #expect(try await station.ksso("realm", environment: ["PATH": path]) == .done("next\n"))
    }

    /// ksso executes `ksso-realm` in the process that the caller started, so a signal to that process reaches `ksso-realm`.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal reaches ksso-realm, and its exit status reaches the caller`(signal: Int32) async throws {
        _ = try await station.installProgram()
        try install("trap 'exit 9' INT TERM HUP; echo $$; read line", in: "bin")
        let (status, transcript) = try await Conversation.with(["ksso", "realm", "run"], on: station) { realm in
            try await realm.wait(for: "\(realm.process)\n")
            kill(realm.process, signal)
        }
        #expect(status == 9, "\(transcript)")
    }

    @Test func `help and usage errors call the command ksso realm`() async throws {
        let help = try await station.ksso("realm", "--help")
        #expect(help.output.contains("USAGE: ksso realm <subcommand>"), "\(help)")
        let run = try await station.ksso("realm", "run", "--help")
        #expect(run.output.contains("USAGE: ksso realm run [--realm R]"), "\(run)")
        #expect(try await station.ksso("help", "realm", "run") == run)
        let wrong = try await station.ksso("realm", "fault", "drop", "--nonsense")
        #expect(wrong.exitStatus == 64 && wrong.errors.contains("Usage: ksso realm fault "), "\(wrong)")
    }

    @Test(arguments: [("", "run fault kdc clock"), ("f", "fault"), ("run ", "")])
    func `bash completes the subcommands of ksso realm`(words: String, completions: String) async throws {
        let script = """
            source <(ksso --generate-completion-script bash)
            COMP_LINE="ksso realm $0"; COMP_POINT=${#COMP_LINE}; read -ra COMP_WORDS <<<"$COMP_LINE"
            [[ $COMP_LINE != *" " ]] || COMP_WORDS+=("")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _ksso ksso "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
            """
        #expect(try await station.run(["bash", "-c", script, words]) == .done("\(completions)\n"))
    }
}
