import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Escape sequences in names, which other people choose, do not reach the terminal.
@Suite(.testRealm(users: ["alice": "secret"]))
struct DisplayTests {
    /// kadmin accepts this name as an argument; its line editor would interpret the escape sequences.
    private static let name = "mal\u{1B}]0;owned\u{07}\u{9B}2Jlory"

    @Test func `control characters in the name of a principal do not reach the output`() async throws {
        let station = try Workstation()
        _ = try await station.realm.kadmin(["add_principal", "-pw", "secret", Self.name])
        try #require(try await station.run(["kinit", Self.name], input: "secret\n").exitStatus == 0)
        for command in [["status"], ["status", "--json"], ["refresh"], ["logout"], ["logout", "--all"]] {
            let result = try await station.run(["ksso"] + command)
            let text = result.output + result.errors
            #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x07 || $0.value == 0x9B }, "\(command)")
            #expect(text.contains("owned"), "\(command): \(result)")
        }
    }

    @Test func `the password prompt escapes control characters in the principal's name`() async throws {
        let station = try Workstation()
        let name = "mal\u{1B}[2Jlory"
        _ = try await station.realm.kadmin(["add_principal", "-pw", "secret", name])
        let command = "ksso login \"$NAME\"; echo status=$?"
        let (_, transcript) = try await Conversation.atTerminal(command, on: station, environment: ["NAME": name]) { terminal in
            try await terminal.wait(for: "lory@EXAMPLE.TEST: ")
            try await terminal.type("secret\n")
            try await terminal.wait(for: "status=0\n")
        }
        #expect(transcript.hasPrefix("Password for mal\\u{1b}[2Jlory@EXAMPLE.TEST: "), "\(transcript.debugDescription)")
        #expect(!transcript.unicodeScalars.contains("\u{1B}"))
    }

    /// A separate line could look like a message of ksso.
    @Test func `a line break in a cache's name starts no new line of output`() async throws {
        let station = try Workstation()
        let path = "\(station.directory)/cache\nksso: send your password to mallory\u{1B}[2J\u{202E}"
        let environment = ["KRB5CCNAME": "FILE:\(path)"]
        let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
        #expect(login.exitStatus == 0 && login.output.contains(#"cache\u{a}ksso: send"#), "\(login)")
        for command in [["status"], ["doctor"], ["login", "alice"], ["logout"], ["refresh"], ["status"]] {
            let result = try await station.run(["ksso"] + command, environment: environment)
            let text = result.output + result.errors
            #expect(!text.contains("\nksso: send") && !text.unicodeScalars.contains("\u{1B}"), "\(command): \(text.debugDescription)")
            #expect(!text.unicodeScalars.contains("\u{202E}"), "\(command)")
        }
        _ = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
        try "damaged".write(toFile: path, atomically: true, encoding: .utf8)
        let damaged = try await station.ksso("status", environment: environment)
        #expect(damaged.errors.contains(#"cache\u{a}ksso: send"#) && !damaged.errors.contains("\nksso: send"), "\(damaged)")
    }

    @Test func `status --json and ksso env give programs the exact cache name`() async throws {
        let station = try Workstation()
        let cache = "FILE:\(station.directory)/cache\n\u{9B}2J\u{202E}"
        let environment = ["KRB5CCNAME": cache]
        _ = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
        let status = try await station.ksso("status", "--json", environment: environment)
        #expect(try StatusDocument(json: status.output).sessions.map(\.cache) == [cache])
        #expect(!status.output.unicodeScalars.contains { $0.value == 0x9B || $0.value == 0x202E })
        let script = "eval \"$(ksso env)\"; printf %s \"$KRB5CCNAME\""
        #expect(try await station.run(["sh", "-c", script], environment: environment).output == cache)
    }
}
