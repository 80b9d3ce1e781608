import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Sign-ins and tokens if the KDC's clock differs from this machine's.
@Suite struct ClockTests {
    private static let service = "HTTP/www.example.test"

    private static func options(_ offset: Int) -> TestRealmOptions {
        TestRealmOptions(users: ["alice": "secret"], services: [service], clockOffset: .seconds(offset))
    }

    @Test(arguments: [-120, 120])
    func `a small clock offset does not prevent authentication`(offset: Int) async throws {
        try await withTestRealm(Self.options(offset)) { realm in
            let user = try await realm.signIn()
            let credential = try await user.initiator(for: realm.principal(Self.service))
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            let ends = try establish(credential, acceptor)
            #expect(ends.server.initiator == "alice@EXAMPLE.TEST")
        }
    }

    @Test(arguments: [-3600, 3600])
    func `tokens have the KDC's time if its clock is far off`(offset: Int) async throws {
        try await withTestRealm(Self.options(offset)) { realm in
            let user = try await realm.signIn()
            let credential = try await user.initiator(for: realm.principal(Self.service))
            // The acceptor uses this machine's clock, so it rejects a token with the KDC's time.
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            await expectFailure(.clockSkew) { _ = try establish(credential, acceptor) }
        }
    }

    @Test(arguments: [-3600, 3600], [false, true])
    func `another client reads the clock offset from the cache`(offset: Int, hasServiceTicket: Bool) async throws {
        try await withTestRealm(Self.options(offset)) { realm in
            let user = try await realm.signIn()
            if hasServiceTicket { _ = try await user.serviceTicket(realm.principal(Self.service)) }
            let other = SignedIn(client: realm.client, principal: user.principal, ticket: user.ticket, cache: user.cache)
            let credential = try await other.initiator(for: realm.principal(Self.service))
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            await expectFailure(.clockSkew) { _ = try establish(credential, acceptor) }
        }
    }

    @Test func `the clock offset survives an abandoned call`() async throws {
        try await withTestRealm(Self.options(-3600)) { realm in
            let user = try await realm.signIn()
            let ticket = try await user.serviceTicket(realm.principal(Self.service))
            try await realm.pauseKDC()
            await expectFailure(.kdcUnreachable) {
                _ = try await realm.signIn(client: user.client, options: .init(deadline: .milliseconds(100)))
            }
            let credential = try await user.client.initiatorCredential(for: ticket)
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            await expectFailure(.clockSkew, comment: "the token has the KDC's time") { _ = try establish(credential, acceptor) }
        }
    }

    @Test(arguments: [-3600, 3600])
    func `without kdc_timesync a large offset is reported with advice to set the clock`(offset: Int) async throws {
        try await withTestRealm(Self.options(offset)) { realm in
            var configuration = realm.configuration
            configuration.libdefaults["kdc_timesync"] = "0"
            let error = await expectFailure(.clockSkew) { _ = try await realm.signIn(client: KerberosClient(configuration)) }
            #expect(error?.message.contains("Set the clock") == true)
        }
    }
}

private let expiringOptions = TestRealmOptions(
    users: ["alice": "secret"],
    services: ["HTTP/www.example.test"],
    ticketLifetime: .seconds(600),
    clockOffset: .seconds(-3600)
)

/// Expired tickets are rejected for every use, but their cache stays readable.
///
/// The KDC's clock is an hour behind and its tickets are valid for ten minutes, so a client that uses this machine's clock finds them
/// expired without a wait.
@Suite(.testRealm(expiringOptions)) struct ExpiryTests {
    private func expired() async throws -> (user: SignedIn, service: Credential) {
        let realm = try TestRealm.required()
        let user = try await realm.signIn(options: .init(renewableLifetime: .seconds(600)))
        let service = try await user.serviceTicket(realm.principal("HTTP/www.example.test"))
        var configuration = realm.configuration
        configuration.libdefaults["kdc_timesync"] = "0"
        let client = KerberosClient(configuration)
        return (SignedIn(client: client, principal: user.principal, ticket: user.ticket, cache: user.cache), service)
    }

    @Test func `an expired ticket-granting ticket gets no service ticket`() async throws {
        let (user, _) = try await expired()
        #expect(!user.ticket.isValid(at: Date()))
        let other = try TestRealm.required().principal("HTTP/other.example.test")
        await expectFailure(.ticketExpired) { _ = try await user.serviceTicket(other) }
    }

    @Test func `an expired service ticket in the cache is not used`() async throws {
        let (user, ticket) = try await expired()
        await expectFailure(.noCredentials, .ticketExpired) { _ = try await user.serviceTicket(ticket.server, cachedOnly: true) }
        await expectFailure(.ticketExpired) { _ = try await user.serviceTicket(ticket.server) }
    }

    @Test func `an expired service ticket makes no token`() async throws {
        let (user, ticket) = try await expired()
        let credential = try await user.client.initiatorCredential(for: ticket)
        let elapsed = await ContinuousClock().measure {
            let error = await expectFailure(.ticketExpired, .noCredentials) { _ = try firstToken(from: credential) }
            #expect(error?.subject == ticket.server.description)
        }
        #expect(elapsed < .seconds(20))
    }

    @Test func `an expired ticket is not renewed`() async throws {
        let (user, _) = try await expired()
        await expectFailure(.ticketExpired, .clockSkew) {
            _ = try await user.client.renewedCredential(for: user.principal, in: user.cache)
        }
    }

    @Test func `a cache of expired tickets can still be read`() async throws {
        let (user, _) = try await expired()
        let contents = try await user.client.contents(of: user.cache)
        #expect(contents.credentials.count == 2)
        #expect(contents.ticketGrantingTicket?.isValid(at: Date()) == false)
    }
}
