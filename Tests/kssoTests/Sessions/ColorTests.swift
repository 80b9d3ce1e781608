import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Colors in the output of `ksso`.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct ColorTests {
    let station: Workstation
    /// The environment of a terminal with colors, also if the tests run with NO_COLOR.
    private static let colors = ["TERM": "xterm", "NO_COLOR": ""]

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func transcript(_ command: String, _ environment: [String: String]) async throws -> String {
        try await Conversation.atTerminal(command, on: station, environment: environment) { _ in }.transcript
    }

    @Test func `at a terminal ksso doctor colors its marks`() async throws {
        let transcript = try await transcript("ksso doctor", Self.colors)
        #expect(transcript.contains("\u{1B}[32m✓\u{1B}[0m profile: "), "\(transcript)")
        #expect(transcript.contains("\u{1B}[31m✗\u{1B}[0m ") || transcript.contains("\u{1B}[33m!\u{1B}[0m "), "\(transcript)")
    }

    @Test(arguments: [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "dumb"], ["TERM": ""]])
    func `NO_COLOR and a terminal without colors disable them`(environment: [String: String]) async throws {
        let transcript = try await transcript("ksso doctor", environment)
        #expect(transcript.contains("✓ profile: ") && !transcript.contains("\u{1B}["), "\(transcript)")
    }

    @Test func `a pipe gets no colors, and an empty NO_COLOR permits them`() async throws {
        let piped = try await transcript("ksso doctor | cat", Self.colors)
        #expect(piped.contains("✓ profile: ") && !piped.contains("\u{1B}["), "\(piped)")
        #expect(try await transcript("ksso doctor", Self.colors).contains("\u{1B}[32m✓"))
    }

    @Test func `at a terminal ksso status colors an expired session`() async throws {
        let login = try await station.ksso("login", "alice", "--password-stdin", "-q", "--lifetime", "1s", input: "secret\n")
        #expect(login.exitStatus == 0, "\(login)")
        try await eventually { try await station.ksso("status", "-q").exitStatus == 5 }
        let transcript = try await transcript("ksso status", Self.colors)
        #expect(transcript.hasPrefix("alice@EXAMPLE.TEST (default): \u{1B}[31mexpired at\u{1B}[0m "), "\(transcript)")
    }
}
