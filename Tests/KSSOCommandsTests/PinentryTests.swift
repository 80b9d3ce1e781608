import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Sign-ins that programs start through the agent, asked for by a real pinentry on a terminal.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5)),
    .enabled(if: StockProgram.pinentry != nil, "pinentry-tty is missing: Scripts/install-packages unpacks it")
)
struct PinentryTests {
    /// Runs an agent at a terminal where its pinentry may ask.
    private func withAgent(
        data: [String] = [],
        _ body: (Workstation, Conversation) async throws -> Void
    ) async throws -> (status: Int, transcript: String) {
        let pinentry = try #require(StockProgram.pinentry)
        let station = try Workstation()
        try station.install(profile(data: data))
        let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path)"
        return try await Conversation.atTerminal(command, on: station, environment: pinentry.variables) { terminal in
            try await eventually { FileManager.default.fileExists(atPath: "\(station.runtime)/agent.sock") }
            try await body(station, terminal)
            _ = try await station.ksso("agent", "stop")
        }
    }

    private func ask(_ station: Workstation, mayAsk: Bool = true) async throws -> String {
        try await station.run([
            "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json",
            "-d", #"{"url": "http://localhost/", "mayAsk": \#(mayAsk)}"#, "http://agent/v1/authorize",
        ]).output
    }

    @Test func tenProgramsCauseOneQuestion() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await ask(station) } }
                try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
                // All of them wait before anybody answers.
                try await eventually { try await station.agentStatus().process.connections >= 11 }
                try await terminal.type("secret\n")
                for try await answer in group { #expect(answer.contains("Negotiate "), "\(answer)") }
            }
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
        #expect(!transcript.contains("secret"), "what is typed is not shown: \(transcript)")
    }

    @Test func theProfilesWordsStandAboveTheQuestion() async throws {
        _ = try await withAgent(data: ["customUsernameLabel: Staff number", "helpText: Call 1234"]) { station, terminal in
            async let answer = ask(station)
            try await terminal.wait(for: "Staff number: alice@EXAMPLE.TEST")
            try await terminal.wait(for: "Call 1234")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            #expect(try await answer.contains("Negotiate "))
        }
    }

    @Test func aRequestThatMayNotAskAsksNobody() async throws {
        let (_, transcript) = try await withAgent { station, _ in
            let answer = try await ask(station, mayAsk: false)
            #expect(answer.contains("notSignedIn"), "\(answer)")
        }
        #expect(!transcript.contains("Password for"), "\(transcript)")
    }

    @Test func aWrongPasswordIsSentOnceAndOneWhoGivesUpIsLeftInPeace() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            async let refused = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("wrong\n")
            let answer = try await refused
            #expect(answer.contains("wrongPassword"), "\(answer)")
            #expect(try station.realm.log().components(separatedBy: "PREAUTH_FAILED").count == 2)

            async let canceled = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("\u{4}")
            #expect(try await canceled.contains("canceled"))
            // Programs try again by themselves.
            let again = try await ask(station)
            #expect(again.contains("canceled") && again.contains("ksso login alice@EXAMPLE.TEST"), "\(again)")
        }
        #expect(transcript.components(separatedBy: "Password for").count == 3, "\(transcript)")
    }

    @Test func aSignInWithoutAPasswordAsks() async throws {
        _ = try await withAgent { station, terminal in
            async let login = station.run([
                "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H",
                "Content-Type: application/json",
                "-d", "{}", "http://agent/v1/login",
            ])
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            let answer = try await login.output
            #expect(answer.contains("alice@EXAMPLE.TEST"), "\(answer)")
        }
    }
}
