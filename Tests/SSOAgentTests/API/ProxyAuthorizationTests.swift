import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// Requests to a running agent for proxies.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct ProxyAuthorizationTests {
    /// A host that is a server and a proxy, so that only the request says which of them asks.
    private static let address = "http://www.example.test:3128"

    private func withAgent(
        access: AccessPolicy? = nil,
        change: @escaping (inout ExtensionConfiguration) throws -> Void = { _ in },
        _ body: (RunningAgent, AuthorizationRequest) async throws -> Void
    ) async throws {
        let url = try #require(URL(string: Self.address))
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            change: { configuration in
                configuration.plainHTTPHosts = [try HostRule("www.example.test")]
                configuration.proxyHosts = [try HostRule("www.example.test")]
                try change(&configuration)
            },
            access: access
        ) { agent in try await body(agent, AuthorizationRequest(url: url, challenger: .proxy)) }
    }

    @Test func `a proxy accepts the agent's token and its token verifies`() async throws {
        try await withAgent { agent, request async throws in
            let client = try await agent.client()
            #expect(client.decision(for: request.url, challenger: .proxy) == agent.kerberos.decision(for: request.url, challenger: .proxy))
            guard case .headers(let grant) = try await client.beginAuthorization(with: request) else {
                Issue.record("The proxy is not handled")
                return
            }
            #expect(grant.headers.map(\.name) == [.proxyAuthorization])
            let value = grant.headers[.proxyAuthorization] ?? ""
            let token = try #require(Data(base64Encoded: String(value.dropFirst("Negotiate ".count))))
            let acceptance = try Acceptance(Array(token), keytab: agent.realm.keytabPath)
            #expect(acceptance.client == "alice@EXAMPLE.TEST")
            #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
            #expect(try await client.identity(for: request) == grant.identity)
        }
    }

    @Test func `a proxy that no profile lists is not handled, although Hosts covers it`() async throws {
        try await withAgent(change: { $0.proxyHosts = [] }) { agent, request async throws in
            let client = try await agent.client()
            guard case .notHandled(let reasons) = try await client.beginAuthorization(with: request) else {
                Issue.record("The proxy got a token")
                return
            }
            #expect(reasons.contains { $0.rule == "proxyHost" && $0.verdict == .failed })
            #expect(try await client.identity(for: request) == nil)
        }
    }

    @Test func `another user gets a token for a proxy only if the host is granted`() async throws {
        let others = AccessPolicy(owner: geteuid() &+ 12345)
        for host in ["www.example.test", "other.example.test"] {
            let rule = try HostRule(host)
            try await withAgent(access: others, change: { $0.allowedPeers = [AllowedPeer(.user(geteuid()), hosts: [rule])] }) {
                agent,
                _ async throws in
                let body = #"{"url": "\#(Self.address)", "challenger": "proxy", "keepsExchange": false}"#
                let answer = try await agent.curl(["--data", body, "http://ksso/v1/authorize"])
                #expect(answer.status == (host == "www.example.test" ? 200 : 403))
            }
        }
    }

    @Test(arguments: [
        (#""challenger": "gateway""#, #""code":"failed""#), (#""challenger": "proxy""#, #""Proxy-Authorization":"Negotiate "#),
        (#""challenger": "origin""#, #""Authorization":"Negotiate "#), (#""challenger": null"#, #""Authorization":"Negotiate "#),
        (#""challenger": "proxy", "challenge": "Basic realm=x""#, #"The proxy does not ask for Negotiate."#),
    ])
    func `the answer has the field for the sender of the challenge`(field: String, part: String) async throws {
        try await withAgent { agent, _ async throws in
            let body = #"{"url": "\#(Self.address)", "keepsExchange": false, \#(field)}"#
            let answer = try await agent.curl(["--data", body, "http://ksso/v1/authorize"]).body
            #expect(answer.contains(part), "\(answer)")
            #expect(answer.contains(#""challenger":"proxy""#) == field.contains("proxy"), "\(answer)")
        }
    }
}
