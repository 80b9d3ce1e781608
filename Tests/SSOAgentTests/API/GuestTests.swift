import Dispatch
import Foundation
import HTTPNegotiate
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import Synchronization
import TestSupport
import Testing

@testable import Kerberos
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

    private func request(_ host: String, guest: UInt32? = nil) throws -> AuthorizationRequest {
        var request = AuthorizationRequest(url: try #require(URL(string: "https://\(host)/")))
        request.guest = guest
        return request
    }

    @Test(.testRealm(options), .timeLimit(.minutes(3))) func `the owner does not wait for another user's requests`() async throws {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        try await withGuest(trace: { line.yield($0) }) { agent, realm in
            let client = try await agent.client()
            try await realm.pauseKDC()
            let (codes, code) = AsyncStream.makeStream(of: String.self)
            let ends = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...120 {
                    let request = try request("host\(number).example.test")
                    group.addTask {
                        // On a slow machine requests may end before enough others wait. The KDC answers none of them.
                        while ends.count == 0 {
                            do throws(AuthorizationError) {
                                _ = try await client.beginAuthorization(with: request)
                            } catch {
                                code.yield(error.code.rawValue)
                                if error.code == .busy || error.code == .canceled { return }
                            }
                        }
                    }
                }
                // The first refusal shows that other requests are waiting.
                var received: [String: Int] = [:]
                for await code in codes {
                    received[code, default: 0] += 1
                    if code == "busy" { break }
                }
                try #require(!Task.isCancelled, "no request was refused: \(received), \(agent.api.connections.count) connections")
                // On a slow machine the other user's request may end, and the next one start, while the owner's is on its way. An owner who
                // waits for the other user comes after the requests that are queued already, unless all of them expire at once.
                var isFirst = false
                for number in 1...6 where !isFirst {
                    let own = try request("own\(number).example.test")
                    isFirst = try await self.isFirst(own, of: agent, in: lines) { line.yield($0) }
                }
                try #require(!Task.isCancelled, "the requests of the owner have not ended")
                #expect(isFirst)
                ends.next()
                try await realm.resumeKDC()
                guard case .headers(let grant) = try await agent.kerberos.beginAuthorization(with: request("own.example.test")) else {
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

    /// Asks for the owner as soon as a request of the other user waits for the KDC. Whether the owner's reaches libkrb5 before the next one
    /// of the other user.
    ///
    /// - Parameter lines: The trace of libkrb5 and the lines of `write`.
    private func isFirst(
        _ request: AuthorizationRequest,
        of agent: RunningAgent,
        in lines: AsyncStream<String>,
        write: @escaping @Sendable (String) -> Void
    ) async throws -> Bool {
        let host = try #require(request.url.host)
        let (mark, end) = ("the owner asks for \(host)", "the owner's request for \(host) has ended")
        _ = await lines.first { $0.contains("Requesting tickets for HTTP/host") }
        write(mark)
        let kerberos = agent.kerberos
        async let owner: Void = {
            defer { write(end) }
            _ = try? await kerberos.beginAuthorization(with: request)
        }()
        _ = await lines.first { $0 == mark }
        let line = await lines.first { $0 == end || $0.contains("Requesting tickets for HTTP/") }
        if line?.contains("HTTP/\(host)") == true { return true }
        await owner
        return false
    }

    /// The other guest's host has a long name, so that its request is recognized on the network by its size.
    @Test func `a guest does not wait for another guest's requests`() async throws {
        let long = "\(String(repeating: "a", count: 60)).example.test"
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/\(long)"], faultProxy: true)
        try await withTestRealm(options) { realm in
            try await RunningAgent.run(in: realm) { agent in
                let network = try realm.network
                try await realm.pauseKDC()
                let (kerberos, unanswered) = (agent.kerberos, Counter())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let before = network.exchanges.count
                    for number in 1...40 {
                        let request = try request("host\(number).example.test", guest: 1001)
                        group.addTask {
                            do throws(AuthorizationError) {
                                _ = try await kerberos.beginAuthorization(with: request)
                            } catch {
                                if error.code == .kdcUnreachable { unanswered.next() }
                            }
                        }
                    }
                    let first = try await network.exchanges(count: before + 1)[before]
                    let other = try request(long, guest: 1002)
                    async let outcome = kerberos.beginAuthorization(with: other)
                    // libkrb5 sends the first guest's requests again each second.
                    var isSent = false
                    for count in 2...12 where !isSent {
                        isSent = try await network.exchanges(count: before + count).contains { $0.requestSize > first.requestSize + 40 }
                    }
                    #expect(isSent && unanswered.count == 0)
                    try await realm.resumeKDC()
                    // On a slow machine, its time may be over before the KDC resumes.
                    _ = try? await outcome
                    guard case .headers(let grant) = try await kerberos.beginAuthorization(with: other) else {
                        Issue.record("the second guest's request is not handled")
                        return
                    }
                    #expect(grant.servicePrincipal.hasPrefix("HTTP/\(long)"))
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a guest's client is released when the guest has sent no request for a while`() {
        let now = Mutex(Date(timeIntervalSince1970: 0))
        let configuration = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        let clients = RealmClients(KerberosExtension.Options(configurations: [configuration], clock: { now.withLock { $0 } }))
        weak let idle = clients.client(for: "EXAMPLE.TEST", guest: 1001)
        weak let owner = clients.client(for: "EXAMPLE.TEST")
        #expect(idle != nil && clients.client(for: "EXAMPLE.TEST", guest: 1001) === idle)
        #expect(clients.client(for: "EXAMPLE.TEST", guest: 1002) !== idle)
        now.withLock { $0.addTimeInterval(RealmClients.idleLimit) }
        _ = clients.client(for: "EXAMPLE.TEST", guest: 1002)
        #expect(idle == nil && owner != nil)
    }

    @Test(.testRealm(options)) func `a guest's report of a refused ticket does not prevent the owner's replacement`() async throws {
        try await withGuest { agent, _ in
            let client = try await agent.client()
            let request = try request("www.example.test")
            let first = try await agent.kerberos.exchange(for: request)
            #expect(try await client.exchange(for: request).replaceRefusedTicket())
            #expect(try await !client.exchange(for: request).replaceRefusedTicket())
            // The owner's ticket from before the guest's report was replaced already.
            #expect(await first.replaceRefusedTicket())
            #expect(try await agent.kerberos.exchange(for: request).replaceRefusedTicket())
            #expect(try await !agent.kerberos.exchange(for: request).replaceRefusedTicket())
        }
    }

    @Test(.testRealm(options)) func `a guest can have only one ticket of a service replaced in five minutes`() async throws {
        try await withGuest { agent, _ in
            let client = try await agent.client()
            let request = try request("www.example.test")
            #expect(try await client.exchange(for: request).replaceRefusedTicket())
            // The next ticket is another one, for which there was no replacement.
            try await agent.kerberos.signIn("alice", using: .password(Secret("secret")))
            #expect(try await !client.exchange(for: request).replaceRefusedTicket())
            let other = try self.request("own.example.test")
            #expect(try await client.exchange(for: other).replaceRefusedTicket())
        }
    }

    /// Runs a body while the user has as many requests as may ask the KDC.
    private func withAllPlacesTaken(in agent: RunningAgent, _ body: () async throws -> Void) async throws {
        let limiter = agent.kerberos.tokens.tickets.guests
        let (entries, entry) = AsyncStream.makeStream(of: Void.self)
        let places = (0..<GuestRequestLimiter.limit).map { _ in AsyncStream.makeStream(of: Void.self) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in places {
                group.addTask {
                    try await limiter.run(for: geteuid(), subject: "a host") { () async throws(KerberosError) in
                        entry.yield()
                        for await _ in place.stream {}
                    }
                }
            }
            var entered = entries.makeAsyncIterator()
            for _ in places { await entered.next() }
            try await body()
            for place in places { place.continuation.finish() }
            try await group.waitForAll()
        }
    }

    /// libkrb5 may ask DNS for the realm of a host, so it is looked up after the requests to the KDC that wait already.
    @Test(.testRealm(options), .timeLimit(.minutes(3)))
    func `a request beyond the limit does not wait for the KDC's reply to another`() async throws {
        try await withGuest { agent, realm in
            try await withAllPlacesTaken(in: agent) {
                let client = agent.kerberos.clients.client(for: realm.name, guest: geteuid())
                let (starts, start) = AsyncStream.makeStream(of: Void.self)
                let reply = DispatchSemaphore(value: 0)
                async let other: Void = client.performOnNetwork(subject: "a host", deadline: .seconds(60)) { _, _ throws(KerberosError) in
                    start.yield()
                    reply.wait()
                }
                _ = await starts.first { _ in true }
                let error = await #expect(throws: AuthorizationError.self) {
                    _ = try await agent.kerberos.beginAuthorization(with: request("more.example.test", guest: geteuid()))
                }
                #expect(error?.code == .busy)
                reply.signal()
                try await other
            }
        }
    }

    @Test(.testRealm(options)) func `a refusal because of too many requests contains the time of the next attempt`() async throws {
        try await withGuest { agent, _ in
            let known = ["--data", #"{"url": "https://www.example.test/"}"#, "http://ksso/v1/authorize"]
            #expect(try await agent.curl(known).status == 200)
            try await withAllPlacesTaken(in: agent) {
                let body = #"{"url": "https://more.example.test/"}"#
                let refusal = try await agent.curl(["--include", "--data", body, "http://ksso/v1/authorize"])
                #expect(refusal.status == 429 && refusal.body.lowercased().contains("retry-after: 1"), "\(refusal)")
                #expect(refusal.body.contains(#""code":"busy""#) && refusal.body.contains("Try again in a few seconds."), "\(refusal)")
                let field = "X-Original-URL: https://more.example.test/"
                let gateway = try await agent.curl(["--include", "--header", field, "http://ksso/v1/auth-request"])
                #expect(gateway.status == 429 && gateway.body.lowercased().contains("retry-after: 1"), "\(gateway)")
                // A cached ticket needs no KDC.
                #expect(try await agent.curl(known).status == 200)
            }
            // The finished requests have freed their places. The KDC does not know this service.
            let body = #"{"url": "https://more.example.test/"}"#
            #expect(try await agent.curl(["--data", body, "http://ksso/v1/authorize"]).body.contains("unknownService"))
        }
    }
}

extension CredentialExtension {
    /// The exchange of a grant for a request.
    fileprivate func exchange(for request: AuthorizationRequest) async throws -> any AuthorizationExchange {
        guard case .headers(let grant) = try await beginAuthorization(with: request) else { throw CancellationError() }
        return grant.exchange
    }
}
