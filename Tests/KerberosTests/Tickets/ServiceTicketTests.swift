import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/crowd.example.test", "postgres/db.example.test"]))
struct ServiceTicketTests {
    @Test(arguments: ["HTTP/www.example.test", "postgres/db.example.test"])
    func `a service ticket is acquired and stored in the cache`(name: String) async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let service = try realm.principal(name)
        let ticket = try await user.serviceTicket(service)
        #expect(ticket.server == service)
        #expect(ticket.client == user.principal)
        #expect(ticket.times.expires <= user.ticket.times.expires)
        let again = try await user.serviceTicket(service, cachedOnly: true)
        #expect(again.times == ticket.times)
        #expect(try await user.client.contents(of: user.cache).credentials.count == 2)
    }

    @Test func `a valid service ticket in the cache is not requested again`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let client = KerberosClient(realm.configuration) { continuation.yield($0) }
        let service = try realm.principal("HTTP/www.example.test")
        _ = try await user.serviceTicket(service)
        _ = try await client.serviceTicket(for: service, in: user.cache)
        continuation.finish()
        #expect(await lines.first { $0.contains("Sending") } == nil)
    }

    @Test func `concurrent calls request a service ticket once`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let service = try realm.principal("HTTP/crowd.example.test")
        let tickets = try await withThrowingTaskGroup(of: Credential.self) { group in
            for _ in 0..<20 { group.addTask { try await user.serviceTicket(service) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tickets.allSatisfy { $0.isIdentical(to: tickets[0]) })
        #expect(try realm.issued(.serviceTicket, server: "HTTP/crowd.example.test") == 1)
        #expect(try await user.client.contents(of: user.cache).credentials.count == 2)
    }

    @Test func `a service ticket is not stored in a cache that another principal has signed in to during the request`() async throws {
        try await withTestRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
            let client = KerberosClient(realm.configuration) { if $0.contains("Sending request") { continuation.yield() } }
            let user = try await realm.signIn()
            let bob = try await realm.signIn("bob")
            try await realm.pauseKDC()
            async let ticket = client.serviceTicket(for: realm.principal("HTTP/www.example.test"), in: user.cache, deadline: .seconds(60))
            try #require(await sent.first { _ in true } != nil)
            try await user.client.replace(user.cache, principal: bob.principal, credentials: [bob.ticket])
            try await realm.resumeKDC()
            #expect(try await ticket.client == user.principal)
            let contents = try await client.contents(of: user.cache)
            #expect(contents.credentials.map(\.client) == [bob.principal])
        }
    }

    @Test func `a service without a realm gets a ticket with the client's realm`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let service = try Principal(service: "HTTP", host: "www.example.test")
        #expect(service.realm.isEmpty)
        let ticket = try await user.serviceTicket(service)
        #expect(try ticket.server == realm.principal("HTTP/www.example.test"))
        let credential = try await user.client.initiatorCredential(for: ticket)
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        #expect(try establish(credential, acceptor).server.acceptor == "HTTP/www.example.test@EXAMPLE.TEST")
    }

    @Test func `a lookup in the cache only sends no request`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        await expectFailure(.noCredentials) {
            _ = try await user.serviceTicket(realm.principal("HTTP/never.example.test"), cachedOnly: true)
        }
        #expect(try requests(for: "HTTP/never.example.test", realm: realm) == 0)
    }

    @Test(arguments: ["HTTP/absent.example.test", "HTTP/WWW.example.test", "absent"])
    func `a service that the KDC does not know is reported by name`(name: String) async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let error = await expectFailure(.unknownService) { _ = try await user.serviceTicket(realm.principal(name)) }
        #expect(error?.subject == "\(name)@\(realm.name)")
        #expect(try await user.client.contents(of: user.cache).ticketGrantingTicket != nil, "no ticket is lost")
    }

    /// A domain controller sends this code if several accounts have the name.
    @Test func `a service principal name of several accounts is reported as such`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], faultProxy: true)) { realm in
            let user = try await realm.signIn()
            try await realm.network.set(.error(8))
            let service = try realm.principal("HTTP/twice.example.test")
            let error = await expectFailure(.unknownService) { _ = try await user.serviceTicket(service) }
            #expect(error?.message.hasPrefix("several accounts of the domain have this service principal name") == true, "\(error as Any)")
        }
    }

    @Test func `a cache without a ticket-granting ticket gets no service ticket`() async throws {
        let realm = try TestRealm.required()
        let cache = realm.newCache()
        let client = realm.client
        try await client.replace(cache, principal: realm.principal("alice"), credentials: [])
        await expectFailure(.noCredentials) {
            _ = try await client.serviceTicket(for: realm.principal("HTTP/www.example.test"), in: cache)
        }
    }

    private func requests(for service: String, realm: TestRealm) throws -> Int {
        try realm.log().split(separator: "\n").count { $0.contains("TGS_REQ") && $0.contains(service) }
    }
}

@Suite struct TrustTests {
    private static let first = TestRealmOptions(name: "A.TEST", users: ["alice": "secret"], services: ["HTTP/web.a.test"])
    private static let second = TestRealmOptions(name: "B.TEST", users: ["bob": "secret"], services: ["HTTP/web.b.test"])

    @Test(arguments: [nil, "B.TEST"])
    func `a service ticket of a trusted realm authenticates without a KDC`(realmName: String?) async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, second in
            let user = try await first.signIn()
            let ticket = try await user.serviceTicket(Principal(service: "HTTP", host: "web.b.test", realm: realmName))
            #expect(ticket.server.description == "HTTP/web.b.test@B.TEST")
            #expect(ticket.client.description == "alice@A.TEST")
            let credential = try await user.client.initiatorCredential(for: ticket)
            // From here on neither KDC is needed.
            try await first.stopKDC()
            try await second.stopKDC()
            let acceptor = try AcceptorCredential(keytab: second.keytabPath, replayCache: .disabled)
            let ends = try establish(credential, acceptor)
            #expect(ends.server.initiator == "alice@A.TEST")
            #expect(ends.client.acceptor == "HTTP/web.b.test@B.TEST")
        }
    }

    @Test func `the ticket-granting ticket of a cache is that of the client's own realm`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, _ in
            let user = try await first.signIn()
            _ = try await user.serviceTicket(Principal("HTTP/web.b.test@B.TEST"))
            let contents = try await user.client.contents(of: user.cache)
            #expect(contents.credentials.contains { $0.server.description.hasPrefix("krbtgt/B.TEST@") })
            #expect(contents.ticketGrantingTicket?.server.description == "krbtgt/A.TEST@A.TEST")
        }
    }

    @Test func `an unknown service of a trusted realm is reported as unknown`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, _ in
            let user = try await first.signIn()
            await expectFailure(.unknownService) { _ = try await user.serviceTicket(Principal("HTTP/absent.b.test@B.TEST")) }
        }
    }

    @Test func `a ticket for a trusted realm is requested once, even if the service is unknown`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, second in
            let user = try await first.signIn()
            for service in ["HTTP/absent.b.test@B.TEST", "HTTP/web.b.test@B.TEST"] { _ = try? await user.serviceTicket(Principal(service)) }
            let servers = try await user.client.contents(of: user.cache).credentials.map(\.server.description)
            #expect(servers == ["krbtgt/A.TEST@A.TEST", "krbtgt/B.TEST@A.TEST", "HTTP/web.b.test@B.TEST"])
            #expect(try first.received(.serviceTicket) == 1)
            // Another client finds the ticket in the cache.
            let other = first.client
            try await first.stopKDC()
            await expectFailure(.unknownService) {
                _ = try await other.serviceTicket(for: Principal("HTTP/absent.b.test@B.TEST"), in: user.cache)
            }
        }
    }

    @Test func `a trusted realm whose KDC is stopped is reported as unreachable`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, second in
            let user = try await first.signIn()
            try await second.stopKDC()
            await expectFailure(.kdcUnreachable) { _ = try await user.serviceTicket(Principal("HTTP/web.b.test@B.TEST")) }
            _ = try await user.serviceTicket(Principal("HTTP/web.a.test@A.TEST"))
        }
    }
}
