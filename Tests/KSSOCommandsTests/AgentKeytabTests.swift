import Foundation
import KerberosTesting
import Testing

/// `ksso agent run --keytab`: an agent that signs in by itself.
@Suite(.timeLimit(.minutes(5)))
struct AgentKeytabTests {
    private func withKeytab(_ body: (Workstation, String) async throws -> Void) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret", "bob": "secret"])) { realm in
            try await body(Workstation(realm: realm), realm.keytab(for: "alice"))
        }
    }

    private func waitForSession(on station: Workstation) async throws {
        try await eventually {
            let sessions = try await station.status().sessions
            return sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] && sessions.map(\.acquiredBy) == ["keytab"]
        }
    }

    @Test(arguments: [[], ["--principal", "alice"], ["--system"]])
    func itSignsIn(options: [String]) async throws {
        try await withKeytab { station, keytab in
            let end = try await station.withAgent(["--keytab", keytab] + options) { _ in try await waitForSession(on: station) }
            #expect(end.status == 0 && end.transcript == "", "\(end)")
        }
    }

    @Test func theKDCComesUpLater() async throws {
        try await withKeytab { station, keytab in
            try await station.realm.stopKDC()
            try await station.withAgent(["--keytab", keytab]) { agent in
                try await agent.wait(for: "ksso: the sign-in with the keytab \(keytab) failed: ")
                #expect(try await station.status().sessions == [])
                try await station.realm.startKDC()
                try await waitForSession(on: station)
            }
        }
    }

    @Test func inTheBackgroundTheFirstSignInIsReported() async throws {
        try await withKeytab { station, keytab in
            try await station.withBackgroundAgent("--keytab", keytab) { result async throws in
                let first = "The agent serves in \(station.runtime). Stop it with: ksso agent stop\n"
                #expect(result == .done("\(first)alice@EXAMPLE.TEST is signed in.\n"))
                #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            }
        }
    }

    @Test func inTheBackgroundAKeyThatTheKDCRefusesIsReported() async throws {
        try await withKeytab { station, keytab in
            _ = try await station.realm.kadmin(["change_password", "-pw", "another", "alice"])
            try await station.withBackgroundAgent("--keytab", keytab) { result async throws in
                #expect(result.exitStatus == 0 && result.output.hasPrefix("The agent serves in "), "\(result)")
                let sentence =
                    "ksso: the sign-in with the keytab \(keytab) failed: alice@EXAMPLE.TEST: the keytab's key is not the one the KDC has"
                #expect(result.errors.hasPrefix(sentence) && result.errors.hasSuffix(" The agent tries again.\n"), "\(result)")
            }
        }
    }

    /// Nothing that could lock an account is tried again, and the agent serves all the same.
    @Test func aKeyThatIsNotThere() async throws {
        try await withKeytab { station, keytab in
            try await station.withAgent(["--keytab", keytab, "--principal", "bob"]) { agent in
                try await agent.wait(for: "ksso: the sign-in with the keytab \(keytab) failed: bob@EXAMPLE.TEST")
                try await station.signIn("bob")
                #expect(try await station.status().sessions.map(\.principal) == ["bob@EXAMPLE.TEST"])
            }
        }
    }
}
