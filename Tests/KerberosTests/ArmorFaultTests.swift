import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Tickets that shall protect a sign-in (FAST, RFC 6113) and can't, and clocks that differ.
@Suite struct ArmorFaultTests {
    private static func options(clockOffset: Duration? = nil) -> TestRealmOptions {
        TestRealmOptions(users: ["alice": "secret"], clockOffset: clockOffset, demandsFAST: true)
    }

    private func signIn(_ realm: TestRealm, armor: String) async throws -> Credential {
        var configuration = realm.configuration
        configuration.armorCache = CredentialCacheName(rawValue: armor)
        return try await KerberosClient(configuration)
            .initialCredential(for: try Principal("alice@EXAMPLE.TEST"), using: .password(Secret("secret")))
    }

    /// As kinit -T has it: the cache of the protecting ticket knows the KDC's time.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600), .seconds(-360)])
    func aClockThatIsOff(offset: Duration) async throws {
        try await withTestRealm(Self.options(clockOffset: offset)) { realm in
            let credential = try await signIn(realm, armor: try await realm.armorCache())
            #expect(credential.client.description == "alice@EXAMPLE.TEST")
        }
    }

    /// The KDC was made anew: the password is not to blame, and none was sent.
    @Test func aTicketOfAKDCThatIsNoMore() async throws {
        try await withTestRealm(Self.options()) { former in
            let armor = try await former.armorCache()
            try await withTestRealm(Self.options()) { realm in
                let error = await #expect(throws: KerberosError.self) { try await signIn(realm, armor: armor) }
                #expect(error?.code == .armorUnusable, "\(String(describing: error))")
                let attempts = try await realm.failedAttempts(of: "alice")
                #expect(attempts == 0)
            }
        }
    }
}
