import Foundation
import KerberosTesting
import KerberosTestingTraits
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
        stops: Bool = true,
        _ body: (Workstation, Conversation) async throws -> Void
    ) async throws -> (status: Int, transcript: String) {
        let pinentry = try #require(StockProgram.pinentry)
        let station = try Workstation()
        try station.install(profile(data: data))
        let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path)"
        return try await Conversation.atTerminal(command, on: station, environment: pinentry.variables) { terminal in
            try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
            try await body(station, terminal)
            guard stops else { return }
            let stop = try await station.ksso("agent", "stop")
            #expect(stop.exitStatus == 0, "\(stop)")
        }
    }

    private func ask(_ station: Workstation, mayAsk: Bool = true, path: String = "authorize") async throws -> String {
        try await station.run([
            "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json",
            "-d", #"{"url": "http://localhost/", "mayAsk": \#(mayAsk)}"#, "http://agent/v1/\(path)",
        ]).output
    }

    private func document(_ text: String) throws -> [String: [String: String]] {
        try JSONDecoder().decode([String: [String: String]].self, from: Data(text.utf8))
    }

    @Test func `ten programs cause one question`() async throws {
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

    @Test func `the profiles words stand above the question`() async throws {
        _ = try await withAgent(data: ["customUsernameLabel: Staff number", "helpText: Call 1234"]) { station, terminal in
            async let answer = ask(station)
            try await terminal.wait(for: "Staff number: alice@EXAMPLE.TEST")
            try await terminal.wait(for: "Call 1234")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            #expect(try await answer.contains("Negotiate "))
        }
    }

    @Test func `a request that may not ask asks nobody`() async throws {
        let (_, transcript) = try await withAgent { station, _ in
            let answer = try await ask(station, mayAsk: false)
            #expect(answer.contains("notSignedIn"), "\(answer)")
        }
        #expect(!transcript.contains("Password for"), "\(transcript)")
    }

    /// Who would answer is known when somebody is signed in, and not before.
    @Test func `a question for an identity asks too`() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            let refused = try await ask(station, mayAsk: false, path: "identity")
            #expect(refused.contains("notSignedIn"), "\(refused)")
            async let asked = ask(station, path: "identity")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            let answer = try await asked
            #expect(answer.contains(#""principal":"alice@EXAMPLE.TEST""#) && !answer.contains("Negotiate "), "\(answer)")
            // Nobody is asked again.
            let again = try await ask(station, path: "identity")
            // The order of a document's fields is not told.
            #expect(try document(again) == document(answer), "\(again)")
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
    }

    @Test func `a wrong password is sent once and one who gives up is left in peace`() async throws {
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

    /// The processes of pinentry that this workstation has.
    private func questions(_ station: Workstation) -> Int {
        let path = StockProgram.pinentry?.path ?? ""
        return visibleArguments(of: station.directory).filter { $0.hasPrefix(path) }.count
    }

    @Test func `an agent that stops ends its question`() async throws {
        // The agent is stopped while somebody waits; it answers that one, and ends.
        _ = try await withAgent(stops: false) { station, terminal in
            async let asked = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            let stop = try await station.ksso("agent", "stop")
            #expect(stop.output == "The agent has stopped.\n", "\(stop)")
            let answer = try await asked
            #expect(answer.contains("canceled"), "\(answer)")
            try await eventually { questions(station) == 0 }
        }
    }

    @Test(arguments: ["authorize", "login"]) func `a question ends with its clients`(path: String) async throws {
        _ = try await withAgent { station, terminal in
            let body = path == "login" ? "{}" : #"{"url": "http://localhost/", "mayAsk": true}"#
            let command = [
                "curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json", "-d", body,
                "http://agent/v1/\(path)",
            ]
            _ = try await Conversation.with(command, on: station) { client in
                try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
                kill(client.process, SIGKILL)
            }
            try await eventually { questions(station) == 0 }
            // Nobody has refused anything: the next one asks at once.
            async let next = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            let answer = try await next
            #expect(answer.contains("Negotiate "), "\(answer)")
        }
    }

    @Test func `who gives up a sign-in is left in peace`() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            async let canceled = login(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("\u{4}")
            #expect(try await canceled.contains("canceled"))
            for _ in 0..<4 {
                let again = try await login(station)
                #expect(again.contains("canceled") && again.contains("ksso login alice@EXAMPLE.TEST"), "\(again)")
            }
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
    }

    private func login(_ station: Workstation) async throws -> String {
        try await station.run([
            "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json",
            "-d", #"{"principal": "alice"}"#, "http://agent/v1/login",
        ]).output
    }

    @Test func `a sign-in without a password asks`() async throws {
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
