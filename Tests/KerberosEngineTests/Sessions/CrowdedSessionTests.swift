import Foundation
import HTTPNegotiate
import Kerberos
import KerberosTesting
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// Concurrent refreshes of one session, by the renewal and by requests, reacquire its ticket once.
@Suite struct CrowdedSessionTests {
    private static let crowd = 20

    /// Runs the body many times concurrently and returns every result.
    private func crowd<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> [Result<Value, any Error>] {
        await withTaskGroup(of: Result<Value, any Error>.self) { group in
            for _ in 0..<Self.crowd {
                group.addTask {
                    do { return .success(try await body()) } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `concurrent and late refreshes renew a ticket once`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let kerberos = try CacheHome(realm).makeExtension()
            let options = InitialCredentialOptions(lifetime: .seconds(36_000), renewableLifetime: .seconds(86_400))
            let session = try await kerberos.signIn("alice", using: .secret, options: options)
            let renewed = await crowd { try await kerberos.refresh(session).ticketFingerprint }
            // A late caller still has the old session.
            let late = try await kerberos.refresh(session).ticketFingerprint
            #expect(Set(try renewed.map { try $0.get() } + [late]).count == 1)
            #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 1)
        }
    }

    @Test(arguments: [false, true])
    func `concurrent and late refreshes with a keytab acquire one ticket`(isServices: Bool) async throws {
        try await withTestRealm(.init(users: ["robot": "secret"], services: ["HTTP/www.example.test"])) { realm in
            var home = try CacheHome(realm)
            let keytab = try await realm.keytab(for: "robot")
            if isServices { home.options.credential = .keytab(.keytab(keytab), principal: "robot") }
            let kerberos = home.makeExtension()
            if isServices { _ = try await kerberos.grant("www.example.test") } else { try await kerberos.signIn(using: .keytab(keytab)) }
            let session = try #require(try await kerberos.sessions().sessions.first)
            let acquired = await crowd { try await kerberos.refresh(session).ticketFingerprint }
            let late = try await kerberos.refresh(session).ticketFingerprint
            #expect(Set(try acquired.map { try $0.get() } + [late]).count == 1)
            #expect(try realm.issued(.initialTicket, client: "robot") == 2)
        }
    }

    @Test func `a wrong key costs one attempt at the KDC across concurrent refreshes and requests`() async throws {
        try await withTestRealm(.init(users: ["robot": "secret"], services: ["HTTP/www.example.test"])) { realm in
            let home = try CacheHome(realm)
            let kerberos = home.makeExtension()
            let session = try await kerberos.signIn(using: .keytab(try await realm.keytab(for: "robot")))
            _ = try await realm.kadmin(["change_password", "-pw", "another", "robot"])
            // The ticket has expired.
            home.clock.advance(by: 11 * 3600)
            async let refreshed = crowd { try await kerberos.refresh(session).ticketFingerprint }
            async let granted = crowd { try await kerberos.grant("www.example.test").principal }
            let (refreshes, grants) = await (refreshed, granted)
            #expect(refreshes.allSatisfy { if case .failure = $0 { true } else { false } })
            #expect(grants.allSatisfy { if case .failure = $0 { true } else { false } })
            #expect(try await realm.failedAttempts(of: "robot") == 1)
        }
    }

    @Test func `concurrent sign-ins with one key share one request to the KDC`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let kerberos = try CacheHome(realm).makeExtension()
            let keytab = try await realm.keytab(for: "robot")
            try await realm.pauseKDC()
            async let signedIn = crowd { try await kerberos.signIn("robot", using: .keytab(keytab)).principal.description }
            let principal = try Principal("robot", defaultRealm: realm.name)
            let flight = KeyFlight(principal: principal, keytab: keytab, options: .init())
            #expect(try await comesTrue { kerberos.signIns.exchange.keyFlights.waiters(for: flight) == Self.crowd })
            try await realm.resumeKDC()
            for result in await signedIn { #expect(try result.get() == "robot@EXAMPLE.TEST") }
            #expect(try realm.issued(.initialTicket, client: "robot") == 1)
        }
    }
}
