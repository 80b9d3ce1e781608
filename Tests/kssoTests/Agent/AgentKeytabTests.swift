import Foundation
import KerberosTesting
import TestSupport
import Testing

/// `ksso agent run --keytab` signs the agent in without a user.
@Suite(.timeLimit(.minutes(5)))
struct AgentKeytabTests {
    private func withKeytab(_ body: (Workstation, String) async throws -> Void) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"])) { realm in
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
    func `an agent with a keytab signs in when it starts`(options: [String]) async throws {
        try await withKeytab { station, keytab in
            let end = try await station.withAgent(["--keytab", keytab] + options) { _ in try await waitForSession(on: station) }
            #expect(end.status == 0 && end.transcript == "", "\(end)")
        }
    }

    @Test func `an agent that starts before the KDC signs in as soon as the KDC is up`() async throws {
        try await withKeytab { station, keytab in
            try await station.realm.stopKDC()
            try await station.withAgent(["--keytab", keytab]) { agent in
                try await agent.wait(for: "ksso: the sign-in with the keytab \(keytab) failed: ")
                #expect(try await station.status().sessions == [])
                try await station.realm.startKDC()
                try await waitForSession(on: station)
                // The agent logs the recovery, so that the log does not end with the failure.
                try await agent.wait(for: "signed in as alice@EXAMPLE.TEST with the keytab \(keytab).")
            }
        }
    }

    @Test func `the systemd status line follows the sign-in attempts with the keytab`() async throws {
        try await withKeytab { station, keytab in
            let notifications = try NotificationSocket(path: "\(station.directory)/notify")
            try await station.realm.stopKDC()
            try await station.withAgent(["--keytab", keytab], environment: ["NOTIFY_SOCKET": notifications.path]) { _ in
                try await notifications.wait(for: "STATUS=the sign-in with the keytab \(keytab) failed: ")
                try await station.realm.startKDC()
                try await notifications.wait(for: "STATUS=alice@EXAMPLE.TEST is signed in.")
            }
        }
    }

    /// The agent's reply to `authorize`.
    private func ask(_ station: Workstation, _ fields: String) async throws -> String {
        try await station.run([
            "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json",
            "-d", "{\(fields)}", "http://agent/v1/authorize",
        ]).output
    }

    @Test func `the agent signs in again when the profile of the keytab's realm returns`() async throws {
        try await withKeytab { station, keytab in
            let path = try station.install(profile())
            try await station.withAgent(["--keytab", keytab]) { _ in
                try await waitForSession(on: station)
                try FileManager.default.removeItem(atPath: path)
                try await eventually { try await station.status().sessions.isEmpty }
                try station.install(profile())
                try await waitForSession(on: station)
            }
        }
    }

    @Test func `after a sign-out, the next request signs in with the keytab again`() async throws {
        try await withKeytab { station, keytab in
            try station.install(profile())
            try await station.withAgent(["--keytab", keytab]) { _ in
                try await waitForSession(on: station)
                _ = try await station.ksso("logout")
                #expect(try await station.status().sessions == [])
                let answer = try await ask(station, #""url": "http://localhost/""#)
                #expect(answer.contains("Negotiate "), "\(answer)")
                try await waitForSession(on: station)
            }
        }
    }

    @Test func `a request for another realm does not wait for the sign-in with the keytab`() async throws {
        try await withKeytab { station, keytab in
            try station.install(profile())
            try station.install(profile(hosts: [".other.test"], realm: "OTHER.TEST"), as: "other.yaml")
            try await station.realm.pauseKDC()
            try await station.withAgent(["--keytab", keytab]) { _ in
                let answer = try await ask(station, #""url": "https://www.other.test/""#)
                #expect(answer.contains("notSignedIn"), "\(answer)")
                // The attempt with the keytab is still waiting for the KDC.
                let status = try await station.ksso("agent", "status")
                #expect(status.exitStatus == 0 && !status.output.contains("failure"), "\(status)")
            }
        }
    }

    @Test func `a request that waits for the sign-in is answered when the agent stops`() async throws {
        try await withKeytab { station, keytab in
            try station.install(profile())
            try await station.realm.pauseKDC()
            let result = try await withThrowingTaskGroup(of: String.self) { group in
                let end = try await station.withAgent(["--keytab", keytab]) { _ in
                    group.addTask { try await ask(station, #""url": "http://localhost/""#) }
                    try await eventually { try await station.agentStatus().process.connections > 1 }
                }
                #expect(end.status == 0, "\(end)")
                return try await group.next()
            }
            // If the request kept waiting, its connection would close without a reply.
            #expect(result?.contains("notSignedIn") == true, "\(result ?? "")")
        }
    }

    @Test func `ksso agent run --background reports the first sign-in with the keytab`() async throws {
        try await withKeytab { station, keytab in
            try await station.withBackgroundAgent("--keytab", keytab) { result async throws in
                let first = "The agent serves in \(station.runtime). Stop it with: ksso agent stop\n"
                #expect(result == .done("\(first)alice@EXAMPLE.TEST is signed in.\n"))
                #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            }
        }
    }

    @Test func `ksso agent run --background reports a key that the KDC rejects`() async throws {
        try await withKeytab { station, keytab in
            _ = try await station.realm.kadmin(["change_password", "-pw", "another", "alice"])
            try await station.withBackgroundAgent("--keytab", keytab) { result async throws in
                #expect(result.exitStatus == 0 && result.output.hasPrefix("The agent serves in "), "\(result)")
                let sentence =
                    "ksso: the sign-in with the keytab \(keytab) failed: alice@EXAMPLE.TEST: the key in the keytab is not the one "
                    + "in the KDC"
                #expect(result.errors.hasPrefix(sentence) && result.errors.hasSuffix(" The agent retries in 5 minutes.\n"), "\(result)")
                // Repeated failures could lock the account.
                let failures = try station.realm.log().split(separator: "\n").count { $0.contains("PREAUTH_FAILED") }
                #expect(failures == 1)
            }
        }
    }

    /// The KDC receives no request, so the agent can try again soon without locking the account.
    @Test func `an agent whose keytab has no key for its principal reports it and keeps serving`() async throws {
        try await withKeytab { station, keytab in
            let failure = "ksso: the sign-in with the keytab \(keytab) failed: bob@EXAMPLE.TEST"
            try await station.withAgent(["--keytab", keytab, "--principal", "bob"]) { agent in
                try await agent.wait(for: failure)
                #expect(try !station.realm.log().contains("bob@EXAMPLE.TEST"))
                try await station.signIn("bob")
                #expect(try await station.status().sessions.map(\.principal) == ["bob@EXAMPLE.TEST"])
            }
        }
    }
}
