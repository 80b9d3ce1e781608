import Foundation
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

private let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], acceptsPasswordChanges: true)

/// Password changes while an agent keeps the tickets.
@Suite(.testRealm(options), .timeLimit(.minutes(5))) struct AgentPasswordTests {
    @Test func `every password change is sent as an event, and the tickets stay valid`() async throws {
        let station = try Workstation()
        try station.install(profile())
        try await station.withAgent { _ in
            let client = AgentClient(socketPath: "\(station.runtime)/agent.sock")
            let events = client.events()
            let received = ReceivedEvents()
            let reading = Task<Void, any Error> { for try await event in events { received.add(event) } }
            defer { reading.cancel() }
            // The stream is open as soon as it has delivered a sign-in.
            try await eventually {
                _ = try await station.ksso("login", "alice", "--force", "--quiet", "--password-stdin", input: "secret\n")
                return received.count(.gotNewCredential) > 0
            }
            #expect(try await station.run(["ksso", "exec", "--", "kvno", "HTTP/localhost"]).exitStatus == 0)
            let before = try await station.run(["ksso", "exec", "--", "klist"]).output

            let command = try await station.ksso("passwd", "alice", "--password-stdin", input: "secret\nfresh 1\n")
            #expect(command == .done("The password of alice@EXAMPLE.TEST was changed.\n"))
            try await eventually { received.count(.passwordChanged) == 1 }
            try await client.changePassword(of: "alice", from: Secret("fresh 1"), to: Secret("fresh 2"))
            try await eventually { received.count(.passwordChanged) == 2 }
            #expect(received.events.filter { $0.kind == .passwordChanged }.allSatisfy { $0.principal == "alice@EXAMPLE.TEST" })
            #expect(try await station.run(["ksso", "exec", "--", "klist"]).output == before)
        }
    }
}

/// The events that an agent has sent.
private final class ReceivedEvents: Sendable {
    private let list = Mutex<[AgentEvent]>([])
    var events: [AgentEvent] { list.withLock { $0 } }
    func add(_ event: AgentEvent) { list.withLock { $0.append(event) } }
    func count(_ kind: AgentEvent.Kind) -> Int { events.count { $0.kind == kind } }
}
