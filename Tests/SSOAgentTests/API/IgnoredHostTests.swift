import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

/// A client asks the agent nothing about a host that its rules ignore, and must learn all the same that the rules have changed.
@Suite(.testRealm(users: ["alice": "secret"]))
struct IgnoredHostTests {
    private static func later(_ realm: TestRealm) throws -> KerberosExtension {
        let rules = [try HostRule(".later.test")]
        return KerberosExtension(.init(configurations: [.init(realm: realm.name, hosts: rules)], base: .files([realm.configurationPath])))
    }

    @Test func `a host that is added is answered by a client that asks of nothing else`() async throws {
        let realm = try #require(TestRealm.current)
        let url = try #require(URL(string: "https://www.later.test/"))
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            let client = AgentClient(socketPath: agent.socketPath, fallback: nil, recheckInterval: .zero)
            try await client.loadConfiguration()
            #expect(client.decision(for: url).plan == nil)
            agent.current.replace(with: try Self.later(realm))
            #expect(try await comesTrue { client.decision(for: url).plan != nil })
        }
    }

    @Test func `within the interval it is asked once`() async throws {
        let realm = try #require(TestRealm.current)
        let url = try #require(URL(string: "https://www.later.test/"))
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            agent.current.replace(with: try Self.later(realm))
            let client = AgentClient(socketPath: agent.socketPath, fallback: nil, recheckInterval: .seconds(86400))
            // It knows nothing yet; the first question has it look.
            #expect(client.decision(for: url).plan == nil)
            #expect(try await comesTrue { client.decision(for: url).plan != nil })
            let other = try #require(URL(string: "https://www.other.test/"))
            let connections = agent.api.connections.count
            agent.current.replace(with: .init(.init(configurations: [])))
            for _ in 0..<100 { #expect(client.decision(for: other).plan == nil) }
            #expect(client.decision(for: url).plan != nil && agent.api.connections.count == connections)
        }
    }

    @Test func `where the fallback serves an agent that comes is found`() async throws {
        let realm = try #require(TestRealm.current)
        let url = try #require(URL(string: "https://www.example.test/"))
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            let path = agent.socketPath + ".away"
            try FileManager.default.moveItem(atPath: agent.socketPath, toPath: path)
            let fallback = try ScriptedExtension()
            let client = AgentClient(socketPath: agent.socketPath, fallback: fallback, recheckInterval: .zero)
            await #expect(throws: AuthorizationError.self) { try await client.loadConfiguration() }
            #expect(client.decision(for: url).plan == nil)
            try FileManager.default.moveItem(atPath: path, toPath: agent.socketPath)
            #expect(try await comesTrue { client.decision(for: url).plan != nil })
        }
    }
}
