import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Simultaneous requests of many processes for the same ticket cause one request to the KDC.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct AgentColdRequestTests {
    private static let host = "cold.example.test"
    private static let service = "HTTP/\(host)"
    private static let processes = 200

    /// Starts independent processes. Each reads its settings from a FIFO until the gate opens, and then prints the reply to `authorize`.
    private static let script = """
        cd "$HOME" && mkfifo gate && exec 3<>gate
        for number in $(seq \(processes)); do
            curl -K - -sS --unix-socket "$KSSO_RUNTIME_DIR/agent.sock" -H 'Content-Type: application/json' \
                -d '{"url":"http://\(host)/"}' http://agent/v1/authorize <gate 3>&- &
        done
        while [ ! -e open ]; do sleep 0.05; done
        exec 3>&-
        wait
        """

    @Test func `200 processes that need a service ticket at once cause one request to the KDC`() async throws {
        try await withStation { station in
            try await station.withAgent { _ in
                try await station.signIn()
                async let answers = park(on: station)
                try await release(station) { try await station.realm.pauseKDC() }
                expectDistinctTokens(try await answers)
            }
        }
    }

    /// No one is signed in yet and the agent has a keytab, so every request waits for its sign-in.
    @Test func `200 processes that wait for the agent's keytab cause one sign-in`() async throws {
        try await withStation { station in
            let keytab = try await station.realm.keytab(for: "alice")
            let answers = Task { try await park(on: station) }
            defer { answers.cancel() }
            try await release(station) {
                // The agent's first attempt begins before its socket exists, and waits for the paused KDC.
                try await station.realm.pauseKDC()
            } serving: { body in
                try await station.withAgent(["--keytab", keytab]) { _ in
                    try await body()
                    expectDistinctTokens(try await answers.value)
                }
            }
            #expect(try station.realm.issued(.initialTicket, client: "alice") == 1)
        }
    }

    private func withStation(_ body: (Workstation) async throws -> Void) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], services: [Self.service])) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(hosts: [Self.host]))
            try await body(station)
            #expect(try realm.issued(.serviceTicket, server: Self.service) == 1)
        }
    }

    /// Starts all processes, which send their requests when they are released.
    private func park(on station: Workstation) async throws -> CommandResult { try await station.run(["sh", "-c", Self.script]) }

    /// Releases the processes, and resumes the KDC when all of them wait.
    ///
    /// On a busy machine the KDC resumes after four seconds, because the agent waits ten seconds for it.
    private func release(
        _ station: Workstation,
        pausing: () async throws -> Void,
        serving: (_ body: () async throws -> Void) async throws -> Void = { try await $0() }
    ) async throws {
        try await eventually { visibleStates(of: "curl", in: station.directory).count == Self.processes }
        try await pausing()
        try await serving {
            try station.write("", to: "open")
            let end = ContinuousClock.now + .seconds(4)
            while try await station.agentStatus().process.connections <= Self.processes, .now < end {}
            try await station.realm.resumeKDC()
        }
    }

    private func expectDistinctTokens(_ result: CommandResult) {
        let tokens = result.output.matches(of: /"Authorization":"Negotiate ([^"]+)"/).map(\.1)
        #expect(tokens.count == Self.processes, "\(result.errors) \(result.output.prefix(500))")
        #expect(Set(tokens).count == Self.processes, "each process has its own token")
    }
}
