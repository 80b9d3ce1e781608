import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

/// Listings and searches of a cache, which do not load all its service tickets.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "HTTP/b.example.test"]))
struct CacheListingTests {
    @Test
    func `a listing has the same names, times and marks as the full contents`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        try await user.client.setMark("ksso_a", to: "1", in: user.cache)
        for service in ["HTTP/www.example.test", "HTTP/b.example.test"] { _ = try await user.serviceTicket(realm.principal(service)) }
        let bob = try await realm.signIn("bob")
        try await user.client.store(bob.serviceTicket(realm.principal("HTTP/b.example.test")), in: user.cache)

        let contents = try await user.client.contents(of: user.cache)
        let listing = try await user.client.listing(of: user.cache)
        #expect(listing.name == contents.name)
        #expect(listing.principal == user.principal)
        #expect(listing.marks == contents.marks)
        #expect(listing.marks["ksso_a"] == "1")
        #expect(listing.clockOffset == contents.clockOffset)
        #expect(listing.tickets.map(\.server) == contents.credentials.map(\.server))
        #expect(listing.tickets.map(\.expires) == contents.credentials.map(\.times.expires))
        #expect(listing.tickets.map(\.isOwn) == [true, true, true, false])
        let ticket = try #require(listing.ticketGrantingTicket)
        #expect(ticket.isIdentical(to: user.ticket))
    }

    @Test
    func `a search finds the client's last matching ticket`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let service = try realm.principal("HTTP/www.example.test")
        let (first, second) = (try await user.serviceTicket(service), try await realm.signIn().serviceTicket(service))
        let strange = try await realm.signIn("bob").serviceTicket(service)
        for ticket in [second, strange] { try await user.client.store(ticket, in: user.cache) }
        #expect(!first.isIdentical(to: second))

        let found = try await user.client.ticket(in: user.cache, for: user.principal) { server, _ in server == service }
        #expect(try #require(found).isIdentical(to: second))
        let expired = try await user.client.ticket(in: user.cache, for: user.principal) { server, times in
            server == service && times.expires < Date(timeIntervalSince1970: 0)
        }
        #expect(expired == nil)
    }

    @Test
    func `a truncated cache file cannot be listed`() async throws {
        let user = try await TestRealm.required().signIn()
        let path = try #require(user.cache.path)
        let whole = try Data(contentsOf: URL(filePath: path))
        try whole.dropLast(3).write(to: URL(filePath: path))
        await expectFailure(.cacheCorrupt, .cacheUnusable) { _ = try await user.client.listing(of: user.cache) }
    }
}
