import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The help, the version and the usage errors of `ksso`.
@Suite(.testRealm())
struct UsageTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    /// A command as ArgumentParser describes it.
    private struct Command: Decodable {
        struct Document: Decodable { let command: Command }

        let commandName: String
        let shouldDisplay: Bool
        let subcommands: [Command]?

        /// The words of this command and of every command below it.
        func paths(after words: [String] = []) -> [[String]] {
            let own = words + commandName.split(separator: " ").map(String.init)
            return [own] + (subcommands ?? []).filter(\.shouldDisplay).flatMap { $0.paths(after: own) }
        }
    }

    /// A command and all commands below it. `ksso realm` is a program of its own, which describes itself.
    private func commands(_ words: String...) async throws -> [[String]] {
        let result = try await station.run(words + ["--experimental-dump-help"])
        let document = try JSONDecoder().decode(Command.Document.self, from: Data(result.output.utf8))
        return document.command.paths()
    }

    @Test func `every command prints its help with --help`() async throws {
        // `help` prints the help of another command.
        let commands = Set(try await commands("ksso") + commands("ksso", "realm")).filter { $0.last != "help" }
        #expect(
            commands.isSuperset(of: [["ksso"], ["ksso", "agent", "run"], ["ksso", "configure", "session"], ["ksso", "realm", "clock"]])
        )
        for command in commands {
            let result = try await station.run(command + ["--help"])
            #expect(result.exitStatus == 0 && result.errors == "" && result.output.contains("USAGE: ksso"), "\(command): \(result)")
            let name = command.joined(separator: " ")
            #expect(result.output.contains(/\n\nEXAMPLES:\n( +\S.*\n)+$/) && result.output.contains("  \(name)"), "\(command): \(result)")
        }
    }

    @Test(arguments: [["ksso"], ["ksso", "realm"]])
    func `--version prints the version of the program and of libkrb5`(program: [String]) async throws {
        let result = try await station.run(program + ["--version"])
        let words = result.output.wholeMatch(of: /([a-z ]+) \d+\.\d+\.\d+(\+\d+\.g[0-9a-f]+)? \(MIT krb5 1\.\d+[^)]*\)\n/)
        #expect(words?.1 == Substring(program.joined(separator: " ")), "\(result)")
        #expect(result.exitStatus == 0)
    }

    @Test func `a subcommand prints the same version`() async throws {
        let version = try await station.ksso("--version")
        #expect(try await station.ksso("status", "--version") == version)
    }

    @Test(arguments: ["nonsense", "--nonsense", "explain", "header", "fetch", "switch", "profile check"])
    func `an unknown or incomplete command is a usage error`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64)
        #expect(result.output == "")
        #expect(result.errors.contains("Usage: ksso"))
    }

    @Test(arguments: [
        ("stauts", "stauts", "status"), ("profile chekc corp.yaml", "chekc", "check"), ("realm rnu", "rnu", "run"),
        ("agent --hlep", "--hlep", "--help"), ("login --remeber", "--remeber", "--remember"), ("stauts --json", "stauts", "status"),
        ("configure sesion --install", "sesion", "session"), ("exec --prfile corp.yaml -- true", "--prfile", "--profile"),
        ("exec --prfile=corp.yaml true", "--prfile=corp.yaml", "--profile"), ("stauts --help", "stauts", "status"),
        ("realm clock --relam=X +5m", "--relam=X", "--realm"), ("realm fault --relam X pass", "--relam", "--realm"),
        ("realm rn", "rn", "run"), ("en", "en", "env"), ("realm kdc --nmber 2 stop", "--nmber", "--number"),
        ("realm kdc --relam X stop", "--relam", "--realm"), ("fetch --fial", "--fial", "--fail"),
        ("profile remove --systm", "--systm", "--system"), ("explain --jsno=1", "--jsno=1", "--json"),
        ("logout --hlep", "--hlep", "--help"), ("configure git --uesr", "--uesr", "--user"), ("realm run --josn", "--josn", "--json"),
        ("status --verion", "--verion", "--version"), ("login --vesrion", "--vesrion", "--version"), ("hlep", "hlep", "help"),
        ("help stauts", "stauts", "status"), ("help profile chekc", "chekc", "check"), ("profile chekc -h", "chekc", "check"),
    ])
    func `a usage error suggests the word that is probably meant`(command: String, words: String, meant: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64)
        let line = try #require(result.errors.split(separator: "\n").first)
        #expect(line.hasPrefix("Error: ") && line.hasSuffix("'\(words)'. Did you mean '\(meant)'?"), "\(result)")
        #expect(result.errors.contains("\nUsage: ksso"), "\(result)")
    }

    @Test(arguments: ["nonsense", "ab", "profile nonsense", "--nonsense", "status extra", "exec --nonsense"])
    func `a usage error suggests no word that is not similar`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64 && !result.errors.contains("Did you mean"), "\(result)")
    }

    @Test(arguments: ["explain -x", "explain -xv", "realm kdc -x 2 stop"])
    func `a usage error names an unknown option of one letter`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64 && result.errors.contains(/^Error: Unknown option '-xv?'\nUsage: ksso/), "\(result)")
    }

    @Test(arguments: [
        "realm kdc --realm X sotp", "realm kdc sotp", "fetch --fail", "fetch -i", "fetch -vv -X POST", "login --valid-for x --fial",
    ])
    func `a usage error blames no option that is known or was not reached`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64 && !result.errors.contains("Unknown option"), "\(result)")
    }

    @Test func `a usage error names the word that is no command instead of the option that follows`() async throws {
        let result = try await station.ksso("nonsense", "--json")
        #expect(result.exitStatus == 64 && result.errors.hasPrefix("Error: Unexpected argument 'nonsense'\nUsage: ksso"), "\(result)")
    }

    @Test func `ksso-realm names the program whose completion script completes its words`() async throws {
        let result = try await station.run(["\(try CommandBinary.path())-realm", "--generate-completion-script", "bash"])
        #expect(result.exitStatus == 64 && result.output.isEmpty, "\(result)")
        #expect(result.errors.contains("ksso --generate-completion-script"), "\(result)")
    }

    @Test(arguments: [
        (["agent", "run", "--keep-expired", "7"], "--keep-expired <time>': write a time with units, such as 12h or 7d, or never."),
        (["agent", "run", "--event-timeout", "soon"], "--event-timeout <time>': write a time with units, such as 90s, 30m, 10h or 1d12h;"),
        (["status", "--valid-for", "x"], "--valid-for <valid-for>': write a time with units, such as 90s, 30m, 10h or 1d12h;"),
    ]) func `an invalid duration is refused with the expected form`(words: [String], sentence: String) async throws {
        let result = try await station.run(["ksso"] + words)
        #expect(result.exitStatus == 64 && result.output.isEmpty && result.errors.contains(sentence), "\(result)")
    }

    /// Outside a realm, the control cannot be reached, which is found out after the offset.
    @Test(arguments: ["0", "+0s", "-0m"]) func `a clock offset may be zero`(offset: String) async throws {
        let result = try await station.ksso("realm", "clock", offset)
        #expect(result.exitStatus == 64 && result.errors.contains("works only inside a realm"), "\(result)")
    }

    /// The command either succeeds or is terminated by SIGPIPE, as other programs are.
    @Test func `ksso --help prints no error if the reader of its output has exited`() async throws {
        let result = try await station.run(["bash", "-c", "ksso --help | true; echo ${PIPESTATUS[0]}"])
        #expect(["0\n", "141\n"].contains(result.output), "\(result)")
    }
}
