import Foundation
import HTTPTypes
import KCM
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

/// Which operations of the API another user may call. The agent's owner has a different UID here, so that the user who runs the tests is
/// the other user.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct AudienceTests {
    private static let operations = AgentAPI.operations(of: .unconfigured()).map {
        (method: $0.method.rawValue, path: $0.path, audience: $0.audience)
    }

    private func withOtherUser(_ body: (RunningAgent, ExtensionConfiguration) async throws -> Void) async throws {
        var own: ExtensionConfiguration?
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            change: { configuration in
                configuration.allowedPeers = [AllowedPeer(.user(geteuid()), hosts: [try HostRule("www.example.test")])]
                own = configuration
            },
            access: AccessPolicy(owner: geteuid() &+ 12345)
        ) { agent in try await body(agent, try #require(own)) }
    }

    private func status(_ agent: RunningAgent, _ method: String, _ path: String, _ body: String? = nil) async throws -> Int {
        let url = "http://ksso" + path.replacing("{exchange}", with: "x")
        let data = body.map { ["--data", $0] } ?? []
        return try await agent.curl(["--globoff", "--request", method] + data + [url]).status
    }

    @Test(arguments: operations.indices)
    func `a listed peer may call only the operations for peers`(index: Int) async throws {
        let (method, path, audience) = Self.operations[index]
        try await withOtherUser { agent, _ async throws in
            let body = path == "/v1/authorize" ? #"{"url": "https://other.example.test/"}"# : nil
            let expected =
                switch (audience, method, path) {
                case (.owner, _, _), (_, _, "/v1/authorize"), (_, _, "/v1/auth-request"): 403
                case (_, _, "/v1/configuration"): 200
                case (_, "DELETE", _), (_, _, "/v1/authorize/{exchange}/refusal"): 404
                default: 400
                }
            #expect(try await status(agent, method, path, body) == expected)
            #expect(agent.stops.count == 0 && agent.changes.count == 0)
        }
    }

    /// The connection was opened while the profile still listed its user.
    @Test(arguments: operations.indices)
    func `a peer that is no longer listed is refused every operation`(index: Int) async throws {
        let (method, path, _) = Self.operations[index]
        try await withOtherUser { agent, configuration in
            let answer = try await TextConnection.open(agent.socketPath) { connection in
                #expect(try await comesTrue { agent.api.connections.count == 1 })
                var other = configuration
                other.allowedPeers = []
                agent.current.replace(
                    with: KerberosExtension(KerberosExtension.Options(configurations: [other])),
                    access: AccessPolicy(owner: geteuid() &+ 12345, configurations: [other])
                )
                let target = path.replacing("{exchange}", with: "x")
                try await connection.send("\(method) \(target) HTTP/1.1\r\nHost: ksso\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return try await connection.answer()
            }
            #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
            #expect(agent.stops.count == 0 && agent.changes.count == 0)
        }
    }

    /// The profile changes between the head of a request and the last byte of its body.
    @Test(arguments: [nil, "other.example.test"])
    func `a request is checked against the rules that are active when its body ends`(host: String?) async throws {
        try await withOtherUser { agent, configuration in
            let body = #"{"url": "https://www.example.test/"}"#
            let head =
                "POST /v1/authorize HTTP/1.1\r\nHost: ksso\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
            let answer = try await TextConnection.open(agent.socketPath, sending: head + body.dropLast()) { connection in
                #expect(try await comesTrue { agent.api.requests.load(ordering: .relaxed) == 1 })
                var other = configuration
                other.allowedPeers = try host.map { [AllowedPeer(.user(geteuid()), hosts: [try HostRule($0)])] } ?? []
                agent.current.replace(
                    with: KerberosExtension(KerberosExtension.Options(configurations: [other])),
                    access: AccessPolicy(owner: geteuid() &+ 12345, configurations: [other])
                )
                try await connection.send(String(body.suffix(1)))
                return try await connection.answer()
            }
            #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
        }
    }

    @Test func `a listed peer gets a token for its host`() async throws {
        try await withOtherUser { agent, _ async throws in
            #expect(try await status(agent, "POST", "/v1/authorize", #"{"url": "https://www.example.test/"}"#) == 200)
        }
    }
}
