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
    /// Runs a closure with alice's card, which is not inserted, and an agent at a terminal; returns the terminal's transcript.
    private func withAgent(
        _ keys: String = "SignInOnCardInsertion: true\n",
        _ body: @Sendable (Conversation, Workstation, CardReader, VirtualCard) async throws -> Void
    ) async throws -> String {
        let pinentry = try #require(StockProgram.pinentry)
        return try await withTestRealm(.acceptingCertificates()) { realm in
            let card = try await VirtualCard(try await realm.certificate(for: "alice"), realm: realm)
            let station = try Workstation(realm: realm)
            return try await withCardReader { reader in
                try station.install("CertificateIdentity: '\(reader.identity)'\n\(keys)" + profile(data: ["principalName: alice"]))
                let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path)"
                let folders = [pinentry.variables, reader.environment].compactMap { $0["LD_LIBRARY_PATH"] }.joined(separator: ":")
                let environment = pinentry.variables.merging(reader.environment) { $1 }.merging(["LD_LIBRARY_PATH": folders]) { $1 }
                return try await Conversation.atTerminal(command, on: station, environment: environment) { terminal in
                    try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
                    try await body(terminal, station, reader, card)
                    let stop = try await station.ksso("agent", "stop")
                    #expect(stop.exitStatus == 0, "\(stop)")
                }.transcript
            }
        }
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
            try await terminal.wait(for: "a smart card was inserted, but EXAMPLE.TEST needs no sign-in.")
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

    @Test func `a card that is there when the agent starts signs in after its profile asks for it`() async throws {
        _ = try await withAgent("") { terminal, station, reader, card in
            try await reader.insert(card)
            let keys = "CertificateIdentity: '\(reader.identity)'\nSignInOnCardInsertion: true\n"
            try station.install(keys + profile(data: ["principalName: alice"]))
            try await terminal.wait(for: "Code or PIN:")
            try await terminal.type("\(VirtualCard.pin)\n")
            try await eventually { try await isSignedIn(station) }
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

    @Test func `the agent reports once that the service of the readers does not answer`() async throws {
        let transcript = try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            try station.install("CertificateIdentity: 'PKCS11:'\nSignInOnCardInsertion: true\n" + profile())
            let software = try #require(CardSoftware.found)
            let environment = ["PCSCLITE_CSOCK_NAME": "\(station.directory)/none", "LD_LIBRARY_PATH": software.module.folder]
            return try await Conversation.atTerminal("exec ksso agent run", on: station, environment: environment) { terminal in
                try await terminal.wait(for: "the service of the smart card readers does not answer. Install pcscd")
                #expect(try await station.ksso("agent", "stop").exitStatus == 0)
            }.transcript
        }
        #expect(transcript.components(separatedBy: "does not answer. Install pcscd").count == 2, "\(transcript)")
    }
}
