import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// How a client learns that the agent's rules have changed, although it sends no request for a host that its rules ignore.
@Suite(.testRealm(users: ["alice": "secret"]))
struct IgnoredHostTests {
    private static func later(_ realm: TestRealm) throws -> KerberosExtension {
        let rules = [try HostRule(".later.test")]
        return KerberosExtension(.init(configurations: [.init(realm: realm.name, hosts: rules)], base: .files([realm.configurationPath])))
    }

    @Test func `a client learns of an added host even if it asks only about that host`() async throws {
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

    @Test func `a client checks the agent's rules once within the recheck interval`() async throws {
        let realm = try #require(TestRealm.current)
        let url = try #require(URL(string: "https://www.later.test/"))
        try await RunningAgent.run(in: realm, signedIn: false) { (agent: RunningAgent) async throws -> Void in
            agent.current.replace(with: try Self.later(realm))
            let client = AgentClient(socketPath: agent.socketPath, fallback: nil, recheckInterval: .seconds(86400))
            // The client has no rules yet; the first decision makes it fetch them.
            #expect(client.decision(for: url).plan == nil)
            #expect(try await comesTrue { client.decision(for: url).plan != nil })
            let other = try #require(URL(string: "https://www.other.test/"))
            let connections = agent.api.connections.count
            agent.current.replace(with: .init(.init(configurations: [])))
            for _ in 0..<100 { #expect(client.decision(for: other).plan == nil) }
            #expect(client.decision(for: url).plan != nil && agent.api.connections.count == connections)
        }
    }

    @Test func `a client that uses its fallback finds an agent that starts later`() async throws {
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
