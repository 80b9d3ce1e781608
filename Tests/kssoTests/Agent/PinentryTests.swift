import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Sign-ins that requests to the agent start, with a real pinentry that prompts on a terminal.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5)),
    .enabled(if: StockProgram.pinentry != nil, "pinentry-tty is missing: Scripts/install-packages unpacks it")
)
struct PinentryTests {
    /// Runs an agent at a terminal where its pinentry can prompt.
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

    @Test func `ten concurrent requests to the agent cause one password prompt`() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await ask(station) } }
                try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
                // All requests wait before the password is entered.
                try await eventually { try await station.agentStatus().process.connections >= 11 }
                try await terminal.type("secret\n")
                for try await answer in group { #expect(answer.contains("Negotiate "), "\(answer)") }
            }
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
        #expect(!transcript.contains("secret"), "the typed password is not echoed: \(transcript)")
    }

    @Test func `pinentry shows the profile's label and help text above its prompt`() async throws {
        _ = try await withAgent(data: ["customUsernameLabel: Staff number", "helpText: Call 1234"]) { station, terminal in
            async let answer = ask(station)
            try await terminal.wait(for: "Staff number: alice@EXAMPLE.TEST")
            try await terminal.wait(for: "Call 1234")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            #expect(try await answer.contains("Negotiate "))
        }
    }

    @Test func `a request to the agent that does not allow prompts shows none`() async throws {
        let (_, transcript) = try await withAgent { station, _ in
            let answer = try await ask(station, mayAsk: false)
            #expect(answer.contains("notSignedIn"), "\(answer)")
        }
        #expect(!transcript.contains("Password for"), "\(transcript)")
    }

    /// The identity is known only after a sign-in.
    @Test func `a request for the identity prompts if no one is signed in`() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            let refused = try await ask(station, mayAsk: false, path: "identity")
            #expect(refused.contains("notSignedIn"), "\(refused)")
            async let asked = ask(station, path: "identity")
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            let answer = try await asked
            #expect(answer.contains(#""principal":"alice@EXAMPLE.TEST""#) && !answer.contains("Negotiate "), "\(answer)")
            // There is no second prompt.
            let again = try await ask(station, path: "identity")
            // The order of the fields of a JSON document is unspecified.
            #expect(try document(again) == document(answer), "\(again)")
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
    }

    @Test func `a wrong password is sent once, and a canceled prompt is not repeated`() async throws {
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
            // Programs retry by themselves, which must not cause another prompt.
            let again = try await ask(station)
            #expect(again.contains("canceled") && again.contains("ksso login alice@EXAMPLE.TEST"), "\(again)")
        }
        #expect(transcript.components(separatedBy: "Password for").count == 3, "\(transcript)")
    }

    @Test func `a canceled prompt is not repeated after a change of the profile`() async throws {
        let (_, transcript) = try await withAgent { station, terminal in
            async let canceled = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("\u{4}")
            #expect(try await canceled.contains("canceled"))
            try station.install(profile(hosts: ["localhost", ".example.test"]))
            try await terminal.wait(for: "the profiles have changed")
            let again = try await ask(station)
            #expect(again.contains("canceled") && again.contains("was not answered at"), "\(again)")
        }
        #expect(transcript.components(separatedBy: "Password for").count == 2, "\(transcript)")
    }

    /// The number of pinentry processes of this workstation.
    private func pinentryCount(_ station: Workstation) -> Int {
        let path = StockProgram.pinentry?.path ?? ""
        return visibleArguments(of: station.directory).filter { $0.hasPrefix(path) }.count
    }

    @Test func `an agent that stops closes its prompt and answers the waiting request`() async throws {
        // The agent is stopped while a request waits for the password.
        _ = try await withAgent(stops: false) { station, terminal in
            async let asked = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            let stop = try await station.ksso("agent", "stop")
            #expect(stop.output == "The agent has stopped.\n", "\(stop)")
            let answer = try await asked
            #expect(answer.contains("canceled"), "\(answer)")
            try await eventually { pinentryCount(station) == 0 }
        }
    }

    @Test(arguments: ["authorize", "login"]) func `a prompt closes when its client disconnects`(path: String) async throws {
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
            try await eventually { pinentryCount(station) == 0 }
            // The user has canceled nothing, so the next request prompts immediately.
            async let next = ask(station)
            try await terminal.wait(for: "Password for alice@EXAMPLE.TEST")
            try await terminal.type("secret\n")
            let answer = try await next
            #expect(answer.contains("Negotiate "), "\(answer)")
        }
    }

    @Test func `after a canceled sign-in, further sign-in requests do not prompt`() async throws {
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

    @Test func `a sign-in request without a password prompts for it`() async throws {
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
