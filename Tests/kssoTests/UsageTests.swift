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

    @Test(arguments: [
        "", "login", "logout", "refresh", "switch", "status", "explain", "header", "fetch", "env", "exec", "profile", "profile check",
        "profile show", "realm", "realm run", "realm fault", "doctor",
    ])
    func `every command prints its help with --help`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.exitStatus == 0)
        #expect(result.output.contains("USAGE: ksso"))
        #expect(result.errors == "")
    }

    @Test func `ksso --version prints the version number`() async throws {
        let result = try await station.ksso("--version")
        #expect(result.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
        #expect(result.exitStatus == 0)
    }

    @Test(arguments: ["nonsense", "--nonsense", "explain", "header", "fetch", "switch", "profile check"])
    func `an unknown or incomplete command is a usage error`(command: String) async throws {
        let result = try await station.run(["ksso"] + command.split(separator: " ").map(String.init))
        #expect(result.exitStatus == 64)
        #expect(result.output == "")
        #expect(result.errors.contains("Usage: ksso"))
    }

    @Test(arguments: [
        (["agent", "run", "--keep-expired", "7"], "--keep-expired <time>': write a time with units, such as 12h or 7d, or never."),
        (["agent", "run", "--event-timeout", "soon"], "--event-timeout <time>': write a time with units, such as 90s, 30m, 10h or 1d12h;"),
        (["status", "--valid-for", "x"], "--valid-for <valid-for>': write a time with units, such as 90s, 30m, 10h or 1d12h;"),
    ]) func `an invalid duration is refused with the expected form`(words: [String], sentence: String) async throws {
        let result = try await station.run(["ksso"] + words)
        #expect(result.exitStatus == 64 && result.output.isEmpty && result.errors.contains(sentence), "\(result)")
    }

    /// The command either succeeds or is terminated by SIGPIPE, as other programs are.
    @Test func `ksso --help prints no error if the reader of its output has exited`() async throws {
        let result = try await station.run(["bash", "-c", "ksso --help | true; echo ${PIPESTATUS[0]}"])
        #expect(["0\n", "141\n"].contains(result.output), "\(result)")
    }
}
