import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Names come from others: an escape sequence in one does not reach the terminal.
@Suite(.testRealm(users: ["alice": "secret"]))
struct DisplayTests {
    /// kadmin takes such a name as an argument; its own line editor would act on it.
    private static let name = "mal\u{1B}]0;owned\u{07}\u{9B}2Jlory"

    @Test func theNameOfAPrincipal() async throws {
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

    @Test func theQuestionForAPassword() async throws {
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
}
