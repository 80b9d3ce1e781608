import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"])) struct LifetimeTests {
    @Test(arguments: [Duration.seconds(60), .seconds(3600)])
    func `a ticket is valid for the requested lifetime`(lifetime: Duration) async throws {
        let times = try await TestRealm.required().signIn(options: .init(lifetime: lifetime)).ticket.times
        // The client adds the lifetime to its own time, which may be a second behind the KDC's.
        let difference = times.expires.timeIntervalSince(times.starts) - Double(lifetime.components.seconds)
        #expect(abs(difference) <= 2)
    }

    @Test func `the KDC limits a lifetime that is too long`() async throws {
        let times = try await TestRealm.required().signIn(options: .init(lifetime: .seconds(Int64.max))).ticket.times
        #expect(times.expires.timeIntervalSince(times.starts) == 36_000)
    }

    @Test func `a renewable ticket is renewed`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn(options: .init(lifetime: .seconds(60), renewableLifetime: .seconds(3600)))
        #expect(user.ticket.isRenewable)
        let until = try #require(user.ticket.times.renewUntil)
        // libkrb5 requests the end by its own clock, shortly before the KDC reads its clock.
        let rest = until.timeIntervalSince(user.ticket.times.starts)
        #expect((3000...3601).contains(rest), "\(rest)")
        let renewed = try await user.client.renewedCredential(for: user.principal, in: user.cache)
        #expect(renewed.client == user.principal)
        #expect(renewed.server == user.ticket.server)
        #expect(renewed.times.authenticated == user.ticket.times.authenticated)
        #expect(renewed.times.renewUntil == until)
        #expect(renewed.times.expires >= user.ticket.times.expires)
        #expect(try await user.client.contents(of: user.cache).credentials.count == 1, "the cache is unchanged")
    }

    @Test func `renewing a ticket that is not renewable fails`() async throws {
        let user = try await TestRealm.required().signIn(options: .init(lifetime: .seconds(3600)))
        await expectFailure(.notRenewable) { _ = try await user.client.renewedCredential(for: user.principal, in: user.cache) }
        #expect(try await user.client.contents(of: user.cache).ticketGrantingTicket != nil)
    }

    @Test func `a renewal without a ticket fails`() async throws {
        let realm = try TestRealm.required()
        let principal = try realm.principal("alice")
        let missing = realm.newCache()
        await expectFailure(.noCredentials) { _ = try await realm.client.renewedCredential(for: principal, in: missing) }
        let empty = realm.newCache()
        try await realm.client.replace(empty, principal: principal, credentials: [])
        await expectFailure(.noCredentials) { _ = try await realm.client.renewedCredential(for: principal, in: empty) }
    }

    @Test func `another principal's ticket is not renewed`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn(options: .init(renewableLifetime: .seconds(3600)))
        await expectFailure(.noCredentials) {
            _ = try await user.client.renewedCredential(for: realm.principal("bob"), in: user.cache)
        }
    }

    @Test(arguments: [true, false])
    func `a ticket is forwardable only if requested`(isForwardable: Bool) async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn(options: .init(isForwardable: isForwardable))
        let listing = try await realm.run("klist", ["-f", user.cache.rawValue]).output
        let flags = try #require(listing.split(separator: "Flags: ").last).prefix { $0.isLetter }
        #expect(flags.contains("F") == isForwardable, "\(listing)")
    }
}
