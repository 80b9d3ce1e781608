import Foundation
import KerberosTesting
import TestSupport
import Testing

/// The agent signs in when a card is inserted into a reader, and asks for its PIN with a real pinentry on a terminal.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .enabled(if: StockProgram.pinentry != nil, "pinentry-tty is missing: Scripts/install-packages unpacks it"),
    .enabled(if: CardSoftware.found != nil, "opensc-pkcs11, pcscd or vsmartcard-vpcd is missing: Scripts/install-packages unpacks it"),
    .enabled(if: CardReader.isPossible, Comment(rawValue: CardReader.reason))
)
struct CardInsertionTests {
    /// Runs a closure with alice's card and an agent at a terminal; returns the terminal's transcript.
    ///
    /// - Parameters:
    ///   - keys: Lines of the profile; nil names the card and says that it signs in.
    ///   - isInserted: Whether the card is inserted before the agent starts.
    ///   - options: Options of the agent.
    ///   - stops: Whether the agent is stopped after the closure, and does not exit by itself.
    private func withAgent(
        _ keys: String? = nil,
        isInserted: Bool = false,
        options: String = "",
        stops: Bool = true,
        _ body: @Sendable (Conversation, Workstation, CardReader, VirtualCard) async throws -> Void
    ) async throws -> String {
        let pinentry = try #require(StockProgram.pinentry)
        return try await withTestRealm(.acceptingCertificates()) { realm in
            let card = try await VirtualCard(try await realm.certificate(for: "alice"), realm: realm)
            let station = try Workstation(realm: realm)
            return try await withCardReader { reader in
                try station.install((keys ?? signIn(with: reader)) + profile(data: ["principalName: alice"]))
                if isInserted { try await reader.insert(card) }
                let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path) \(options)"
                let folders = [pinentry.variables, reader.environment].compactMap { $0["LD_LIBRARY_PATH"] }.joined(separator: ":")
                let environment = pinentry.variables.merging(reader.environment) { $1 }.merging(["LD_LIBRARY_PATH": folders]) { $1 }
                return try await Conversation.atTerminal(command, on: station, environment: environment) { terminal in
                    try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
                    try await body(terminal, station, reader, card)
                    guard stops else { return }
                    let stop = try await station.ksso("agent", "stop")
                    #expect(stop.exitStatus == 0, "\(stop)")
                }.transcript
            }
        }
    }

    private func signIn(with reader: CardReader) -> String {
        "CertificateIdentity: '\(reader.identity)'\nSignInOnCardInsertion: true\n"
    }

    private func prompts(_ transcript: String) -> Int { transcript.components(separatedBy: "Code or PIN:").count - 1 }

    private func isSignedIn(_ station: Workstation) async throws -> Bool {
        try await station.run(["ksso", "exec", "--", "klist", "-s"]).exitStatus == 0
    }

    @Test func `an inserted card signs in with its PIN, and inserting it again asks nothing`() async throws {
        let transcript = try await withAgent { terminal, station, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await terminal.wait(for: "alice@EXAMPLE.TEST was signed in with the smart card that was inserted.")
            #expect(try await isSignedIn(station))
            try await reader.remove()
            try await reader.insert(card)
            try await terminal.wait(for: "a smart card was inserted; the user is signed in to EXAMPLE.TEST already.")
            #expect(try await station.ksso("logout").exitStatus == 0)
            try await reader.remove()
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
        #expect(prompts(transcript) == 2, "\(transcript)")
    }

    @Test func `a prompt closes when its card is removed, and opens again with the card`() async throws {
        let transcript = try await withAgent { terminal, station, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await reader.remove()
            let agent = try await station.agentStatus().process.processID
            try await eventually { try await station.run(["pgrep", "-P", "\(agent)"]).exitStatus != 0 }
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
        #expect(prompts(transcript) == 2 && !transcript.contains("failed"), "\(transcript)")
    }

    @Test func `a card that is inserted before the agent starts signs in`() async throws {
        _ = try await withAgent(isInserted: true) { terminal, station, _, _ in
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
    }

    @Test func `a card that is inserted already signs in when the profile begins to say so`() async throws {
        _ = try await withAgent("", isInserted: true) { terminal, station, reader, _ in
            try station.install(signIn(with: reader) + profile(data: ["principalName: alice"]))
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
    }

    @Test func `a card without a setting that names it is reported`() async throws {
        _ = try await withAgent("SignInOnCardInsertion: true\n") { terminal, _, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "failed: EXAMPLE.TEST: no smart card is configured. Set CertificateIdentity in the profile")
        }
    }

    @Test func `a canceled prompt opens again when the card is inserted again`() async throws {
        let transcript = try await withAgent { terminal, station, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\u{4}")
            let agent = try await station.agentStatus().process.processID
            try await eventually { try await station.run(["pgrep", "-P", "\(agent)"]).exitStatus != 0 }
            try await reader.remove()
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
        #expect(prompts(transcript) == 2, "\(transcript)")
    }

    @Test func `a program that waits for the sign-in is answered when the card is removed`() async throws {
        _ = try await withAgent { terminal, station, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            let socket = ["--unix-socket", "\(station.runtime)/agent.sock"]
            let body = ["-H", "Content-Type: application/json", "-d", #"{"principal": "alice", "certificate": "default"}"#]
            async let answer = station.run(["curl", "-sS", "--max-time", "120"] + socket + body + ["http://agent/v1/login"])
            try await eventually { try await station.agentStatus().process.connections >= 2 }
            try await reader.remove()
            #expect(try await answer.output.contains(#""code":"canceled""#))
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
        }
    }

    @Test func `a wrong PIN is reported, and the next insertion asks again`() async throws {
        let transcript = try await withAgent { terminal, station, reader, card in
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("111111\n")
            let failure = "the sign-in with the smart card that was inserted failed: "
            try await terminal.wait(for: failure + "alice@EXAMPLE.TEST: the card refused the PIN")
            #expect(await card.triesLeft == VirtualCard.allowedTries - 1)
            try await reader.remove()
            try await reader.insert(card)
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
        }
        #expect(prompts(transcript) == 2, "\(transcript)")
    }

    @Test func `the agent reports that the smart card service does not answer, and when it does`() async throws {
        let pinentry = try #require(StockProgram.pinentry)
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            try await withCardReader { reader in
                try station.install(signIn(with: reader) + profile())
                // It becomes a link to the service's socket.
                let socket = "\(station.directory)/pcscd.comm"
                let environment = reader.environment.merging(["PCSCLITE_CSOCK_NAME": socket]) { $1 }
                let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path)"
                _ = try await Conversation.atTerminal(command, on: station, environment: environment) { terminal in
                    try await terminal.wait(for: "smart cards are not watched: the smart card service (pcscd) does not answer.")
                    #expect(try await station.ksso("agent", "status").output.contains("smart cards are not watched"))
                    let service = try #require(reader.environment["PCSCLITE_CSOCK_NAME"])
                    try FileManager.default.createSymbolicLink(atPath: socket, withDestinationPath: service)
                    try await terminal.wait(for: "the smart card service answers, or is not needed any more.")
                    #expect(try await !station.ksso("agent", "status").output.contains("smart cards are not watched"))
                    #expect(try await station.ksso("agent", "stop").exitStatus == 0)
                }
            }
        }
    }

    @Test func `an agent that watches for cards does not exit when it is idle`() async throws {
        _ = try await withAgent(options: "--idle-exit 1s", stops: false) { terminal, station, reader, card in
            // Each round takes longer than the agent may be idle, and none is a use of it.
            for _ in 1...3 {
                try await reader.insert(card)
                try await terminal.wait(for: "Code or PIN:")
                try await reader.remove()
            }
            try station.install(profile())
            try await terminal.wait(for: "the agent was idle for 1.0 seconds: it exits.")
        }
    }
}
