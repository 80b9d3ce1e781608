import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Tickets that a KDC rejects, such as those from before the realm was created again with another key.
@Suite struct FormerTicketTests {
    /// Runs the body with a client of the new realm that has the cache of a sign-in to the former realm.
    private func withFormerTicket(_ body: (SignedIn, TestRealm) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"])
        try await withTestRealm(options) { former in
            let user = try await former.signIn(options: .init(renewableLifetime: .seconds(36000)))
            try await withTestRealm(options) { realm in
                let client = realm.client
                try await body(SignedIn(client: client, principal: user.principal, ticket: user.ticket, cache: user.cache), realm)
            }
        }
    }

    @Test func `a ticket from a former KDC is rejected with advice to sign in again`() async throws {
        try await withFormerTicket { user, realm in
            let service = try realm.principal("HTTP/www.example.test")
            let failures = [
                await expectFailure(.ticketRefused) { _ = try await user.serviceTicket(service) },
                await expectFailure(.ticketRefused) { _ = try await user.client.renewedCredential(for: user.principal, in: user.cache) },
            ]
            for error in failures { #expect(error?.message.hasSuffix(" Sign in again.") == true, "\(error as Any)") }
            #expect(failures.map { $0?.message.contains("trust") } == [true, false])
            // Signing in again works.
            let ticket = try await user.client.initialCredential(for: user.principal, using: .password(Secret("secret")))
            try await user.client.replace(user.cache, principal: user.principal, credentials: [ticket])
            _ = try await user.serviceTicket(service)
        }
    }

    /// The new key has another version number, and the KDC no longer has the ticket's key.
    @Test func `a ticket from before a change of the realm's key is rejected`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let user = try await realm.signIn(options: .init(renewableLifetime: .seconds(36000)))
            try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
            let service = try realm.principal("HTTP/www.example.test")
            let request = await expectFailure(.ticketRefused) { _ = try await user.serviceTicket(service) }
            #expect(request?.libraryMessage.contains("PROCESS_TGS") == true, "\(request as Any)")
            await expectFailure(.ticketRefused) { _ = try await user.client.renewedCredential(for: user.principal, in: user.cache) }
            _ = try await realm.signIn(cache: user.cache).serviceTicket(service)
        }
    }

    @Test func `a trust key changed on one side only is reported as a fault of the trust`() async throws {
        let second = TestRealmOptions(name: "B.TEST", services: ["HTTP/web.b.test"])
        try await withTrustedRealms(.init(name: "A.TEST", users: ["alice": "secret"]), second) { first, second in
            try await second.rotateKeys(of: "krbtgt/B.TEST@A.TEST", keepingOld: false, updatesKeytab: false)
            let user = try await first.signIn()
            let error = await expectFailure(.ticketRefused) { _ = try await user.serviceTicket(Principal("HTTP/web.b.test@B.TEST")) }
            #expect(error?.message.contains("trust") == true, "\(error as Any)")
        }
    }

    /// Other reasons why the KDC refuses a service ticket.
    @Test(
        arguments: [
            (["delete_principal", "-force"], .unknownService), (["modify_principal", "-allow_tix"], .unknownService),
            (["modify_principal", "-allow_tgs_req"], .policyRefused), (["modify_principal", "-allow_svr"], .other),
            (["modify_principal", "-expire", "yesterday"], .other), (["modify_principal", "+requires_hwauth"], .other),
            (["purgekeys", "-all"], .other),
        ] as [([String], KerberosError.Code)]
    )
    func `a refused service is not reported as a rejected ticket`(change: [String], code: KerberosError.Code) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let user = try await realm.signIn()
            _ = try await realm.kadmin(change + ["HTTP/www.example.test"])
            await expectFailure(code) { _ = try await user.serviceTicket(realm.principal("HTTP/www.example.test")) }
        }
    }

    @Test func `a lack of common encryption types is not reported as a rejected ticket`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let user = try await realm.signIn()
            _ = try await realm.kadmin(["set_string", "HTTP/www.example.test", "session_enctypes", "des3-cbc-sha1"])
            await expectFailure(.encryptionTypeRefused) { _ = try await user.serviceTicket(realm.principal("HTTP/www.example.test")) }
        }
    }
}
