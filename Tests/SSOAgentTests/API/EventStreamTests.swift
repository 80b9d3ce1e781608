import Foundation
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

/// The stream of events that the agent sends to its clients.
@Suite(.testRealm(users: ["alice": "secret"]))
struct EventStreamTests {
    private let event = AgentEvent(.signedOut, realm: "A.TEST", principal: "alice@A.TEST", date: Date(timeIntervalSince1970: 1000))

    @Test func `events arrive in order and the stream ends when the agent stops`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            let events = AgentClient(socketPath: agent.socketPath).events()
            let seen = Mutex<[AgentEvent]>([])
            let reading = Task<Void, any Error> {
                for try await event in events { seen.withLock { $0.append(event) } }
            }
            #expect(try await comesTrue { agent.events.listenerCount == 1 })
            var sent = [event, event]
            sent[1].kind = .init(rawValue: "of a later version")
            for event in sent { agent.events.send(event) }
            #expect(try await comesTrue { seen.withLock { $0.count } == 2 })
            await agent.server.shutDown()
            // No error is thrown, because the agent ended the stream.
            try await reading.value
            #expect(seen.withLock { $0 } == sent)
        }
    }

    @Test func `a cancelled reader is removed from the listeners and its connection is closed`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            let events = AgentClient(socketPath: agent.socketPath).events()
            let reading = Task<Void, any Error> { for try await _ in events {} }
            #expect(try await comesTrue { agent.events.listenerCount == 1 })
            reading.cancel()
            #expect(try await comesTrue { agent.events.listenerCount == 0 && agent.api.connections.count == 0 })
        }
    }

    @Test func `a client that does not read its events blocks neither others nor the shutdown`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            let request = "GET /v1/events HTTP/1.1\r\nHost: ksso\r\n\r\n"
            try await TextConnection.open(agent.socketPath, sending: request, reads: false) { (_: TextConnection) async throws -> Void in
                #expect(try await comesTrue { agent.events.listenerCount == 1 })
                for _ in 0..<20_000 { agent.events.send(event) }
                #expect(try await agent.client().status().agent)
                // The shutdown does not wait for the client that does not read; it ends after the grace period.
                await agent.server.shutDown(grace: .milliseconds(200))
                #expect(agent.api.connections.count == 0)
            }
        }
    }

    @Test func `without a running agent, the stream of events fails`() async throws {
        let error = await #expect(throws: AuthorizationError.self) {
            for try await _ in AgentClient(socketPath: "/nonexistent/agent.sock").events() {}
        }
        #expect(error?.code == .agentNotRunning)
    }
}
