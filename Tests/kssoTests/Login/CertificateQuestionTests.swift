import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Programs sign in with a certificate through the agent, which asks for the PIN with a real pinentry on a terminal.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .enabled(if: StockProgram.pinentry != nil, "pinentry-tty is missing: Scripts/install-packages unpacks it")
)
struct CertificateQuestionTests {
    /// Runs a closure with the identity of a certificate of alice that requires a PIN.
    private func withKDC(_ body: (Workstation, String) async throws -> Void) async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await body(station, try await realm.certificate(for: "alice", pin: "1234").identity)
        }
    }

    /// Runs an agent at a terminal that its pinentry can use; returns the terminal's transcript.
    private func withAgent(
        on station: Workstation,
        environment: [String: String] = [:],
        _ body: (Conversation) async throws -> Void
    ) async throws -> String {
        let pinentry = try #require(StockProgram.pinentry)
        let command = "GPG_TTY=$(tty) exec ksso agent run --pinentry \(pinentry.path)"
        let variables = environment.merging(pinentry.variables) { $1 }
        return try await Conversation.atTerminal(command, on: station, environment: variables) { terminal in
            try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
            try await body(terminal)
            let stop = try await station.ksso("agent", "stop")
            #expect(stop.exitStatus == 0, "\(stop)")
        }.transcript
    }

    private func login(_ station: Workstation, _ identity: String, _ principal: String = "alice") async throws -> String {
        try await station.run([
            "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json",
            "-d", #"{"principal": "\#(principal)", "certificate": "\#(identity)"}"#, "http://agent/v1/login",
        ]).output
    }

    private func prompts(_ transcript: String) -> Int { transcript.components(separatedBy: "Code or PIN:").count - 1 }

    @Test func `a cancelled PIN prompt is not shown again for later requests`() async throws {
        try await withKDC { station, identity in
            let transcript = try await withAgent(on: station) { terminal in
                async let canceled = login(station, identity)
                try await terminal.wait(for: "Code or PIN:")
                try await terminal.type("\u{4}")
                #expect(try await canceled.contains(#""code":"canceled""#))
                for _ in 0..<2 {
                    let again = try await login(station, identity)
                    let advice = "ksso login alice@EXAMPLE.TEST --certificate \(identity)"
                    #expect(
                        again.contains(#""code":"canceled""#) && again.contains("was not answered at") && again.contains(advice),
                        "\(again)"
                    )
                }
            }
            #expect(prompts(transcript) == 1, "\(transcript)")
        }
    }

    @Test func `ten simultaneous requests cause one PIN prompt`() async throws {
        try await withKDC { station, identity in
            let transcript = try await withAgent(on: station) { terminal in
                try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<10 { group.addTask { try await login(station, identity) } }
                    try await terminal.wait(for: "Code or PIN:")
                    // All requests are waiting before the PIN is entered.
                    try await eventually { try await station.agentStatus().process.connections >= 11 }
                    try await terminal.type("1234\n")
                    for try await answer in group { #expect(answer.contains(#""acquiredBy":"certificate""#), "\(answer)") }
                }
            }
            #expect(prompts(transcript) == 1, "\(transcript)")
        }
    }

    /// The agent loads the card's module because the profile names it.
    @Test(.enabled(if: LoadableLibrary.card != nil, "softhsm2 is missing: Scripts/install-packages unpacks it"))
    func `the PIN of a smart card is asked for once, and every program uses its ticket`() async throws {
        try await withKDC { station, _ in
            let certificate = try await station.realm.certificate(for: "alice")
            let library = try #require(LoadableLibrary.card)
            let card = try await SmartCard("Staff card", certificates: ["alice": certificate], library: library, realm: station.realm)
            try station.install("CertificateIdentity: '\(card.identity())'\n" + profile())
            let transcript = try await withAgent(on: station, environment: card.environment) { terminal in
                async let answer = login(station, card.identity())
                try await terminal.wait(for: "PIN:")
                try await terminal.type("\(SmartCard.pin)\n")
                #expect(try await answer.contains(#""acquiredBy":"certificate""#))
                let list = try await station.run(["ksso", "exec", "--", "klist"])
                #expect(list.output.contains("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST"), "\(list)")
            }
            #expect(transcript.contains("Staff card"), "\(transcript)")
            #expect(!transcript.contains(SmartCard.pin))
        }
    }

    /// libkrb5 ends the use of the card's module for the whole process with each sign-in.
    @Test(.enabled(if: LoadableLibrary.card != nil, "softhsm2 is missing: Scripts/install-packages unpacks it"))
    func `two sign-ins with the same card ask for its PIN one after the other`() async throws {
        try await withKDC { station, _ in
            try await station.realm.addUser("bob", password: "secret")
            var certificates: [String: ClientCertificate] = [:]
            for user in ["alice", "bob"] { certificates[user] = try await station.realm.certificate(for: user) }
            let library = try #require(LoadableLibrary.card)
            let card = try await SmartCard("Staff card", certificates: certificates, library: library, realm: station.realm)
            try station.install("CertificateIdentity: '\(card.identity())'\n" + profile())
            _ = try await withAgent(on: station, environment: card.environment) { terminal in
                async let first = login(station, card.identity(), "alice")
                try await terminal.wait(for: "PIN:")
                async let second = login(station, card.identity(), "bob")
                try await eventually { try await station.agentStatus().process.connections >= 3 }
                try await terminal.type("\(SmartCard.pin)\n")
                try #require(try await first.contains(#""acquiredBy":"certificate""#))
                try await terminal.wait(for: "PIN:")
                try await terminal.type("\(SmartCard.pin)\n")
                #expect(try await second.contains(#""acquiredBy":"certificate""#))
            }
        }
    }
}
