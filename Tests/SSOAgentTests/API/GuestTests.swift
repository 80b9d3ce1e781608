import Foundation
import HTTPNegotiate
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import TestSupport
import Testing

@testable import KerberosEngine
@testable import SSOAgent

/// Limits on the requests of another user. The agent's owner has a different UID here, so that the user who runs the tests is the other
/// user.
struct GuestTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/own.example.test"])

    private func withGuest(
        trace: (@Sendable (String) -> Void)? = nil,
        _ body: (RunningAgent, TestRealm) async throws -> Void
    ) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(
            in: realm,
            change: { $0.allowedPeers = [AllowedPeer(.user(geteuid()), hosts: [try HostRule(".example.test")])] },
            access: AccessPolicy(owner: geteuid() &+ 12345),
            trace: trace
        ) { agent in try await body(agent, realm) }
    }

    private func request(_ host: String) throws -> AuthorizationRequest {
        AuthorizationRequest(url: try #require(URL(string: "https://\(host)/")))
    }

    @Test(.testRealm(options), .timeLimit(.minutes(3))) func `the owner does not wait for another user's requests`() async throws {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        try await withGuest(trace: { line.yield($0) }) { agent, realm in
            let client = try await agent.client()
            try await realm.pauseKDC()
            let (codes, code) = AsyncStream.makeStream(of: String.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...120 {
                    let request = try request("host\(number).example.test")
                    group.addTask {
                        do throws(AuthorizationError) {
                            _ = try await client.beginAuthorization(with: request)
                        } catch {
                            code.yield(error.code.rawValue)
                        }
                    }
                }
                // The first refusal shows that other requests are waiting.
                for await code in codes where code == "busy" { break }
                let own = try request("own.example.test")
                async let owner = agent.kerberos.beginAuthorization(with: own)
                // The owner's request is on its way while the other user's wait for the KDC. Behind them it would come fourth.
                var guests: Set<String> = []
                for await line in lines where line.contains("Requesting tickets for HTTP/") {
                    if line.contains("HTTP/own.example.test") { break }
                    if let host = line.firstMatch(of: /host[0-9]+/) { guests.insert(String(host.0)) }
                }
                #expect(guests.count < PeerRequestLimiter.limit)
                try await realm.resumeKDC()
                guard case .headers(let grant) = try await owner else {
                    Issue.record("the owner's request is not handled")
                    return
                }
                #expect(grant.servicePrincipal.hasPrefix("HTTP/own.example.test"))
                // libkrb5 sends a request again each second, and sends two for an unknown service.
                let asked = try realm.log().split(separator: "\n").filter { $0.contains("TGS_REQ") }
                #expect(Set(asked.compactMap { $0.firstMatch(of: /HTTP.host[0-9]+/).map { String($0.0) } }).count < 20)
                try await group.waitForAll()
            }
        }
    }

    @Test(.testRealm(options)) func `a refusal because of too many requests tells the client when to try again`() async throws {
        try await withGuest { agent, _ in
            let known = ["--data", #"{"url": "https://www.example.test/"}"#, "http://ksso/v1/authorize"]
            #expect(try await agent.curl(known).status == 200)
            let gate = agent.kerberos.tokens.tickets.peers
            let (entries, entry) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // While these occupy the user's places, no other request of the user is sent to the KDC.
                let places = (0..<PeerRequestLimiter.limit).map { _ in AsyncStream.makeStream(of: Void.self) }
                for place in places {
                    group.addTask {
                        try await gate.run(for: geteuid(), subject: "a host") { () async throws(KerberosError) in
                            entry.yield()
                            for await _ in place.stream {}
                        }
                    }
                }
                var entered = entries.makeAsyncIterator()
                for _ in places { await entered.next() }
                let body = #"{"url": "https://more.example.test/"}"#
                let refusal = try await agent.curl(["--include", "--data", body, "http://ksso/v1/authorize"])
                #expect(refusal.status == 429 && refusal.body.lowercased().contains("retry-after: 1"), "\(refusal)")
                #expect(refusal.body.contains(#""code":"busy""#) && refusal.body.contains("Try again in a few seconds."), "\(refusal)")
                let field = "X-Original-URL: https://more.example.test/"
                let gateway = try await agent.curl(["--include", "--header", field, "http://ksso/v1/auth-request"])
                #expect(gateway.status == 429 && gateway.body.lowercased().contains("retry-after: 1"), "\(gateway)")
                // A cached ticket needs no KDC.
                #expect(try await agent.curl(known).status == 200)
                for place in places { place.continuation.finish() }
                try await group.waitForAll()
            }
            // The finished requests have freed their places. The KDC does not know this service.
            let body = #"{"url": "https://more.example.test/"}"#
            #expect(try await agent.curl(["--data", body, "http://ksso/v1/authorize"]).body.contains("unknownService"))
        }
    }
}
