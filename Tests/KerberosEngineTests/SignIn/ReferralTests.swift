import Kerberos
import KerberosEngine
import KerberosTesting
import SignOnPolicy
import TestSupport
import Testing

/// Sign-ins that the KDC of A.TEST refers to the KDC of B.TEST (RFC 6806 section 7).
struct ReferralTests {
    private func withRealms(_ settings: [String: String] = [:], _ body: (CacheHome) async throws -> Void) async throws {
        let first = TestRealmOptions(name: "A.TEST", users: ["alice": "secret"], clientRelations: settings, faultProxy: true)
        let second = TestRealmOptions(name: "B.TEST", users: ["alice": "secret", #"alice\@mail.test"#: "secret"])
        try await withTestRealms([first, second]) { realms in
            try await realms[0].network.set(.referral(to: "B.TEST"))
            try await body(try CacheHome(realms[0]))
        }
    }

    /// krb5.conf lists the realm.
    @Test func `an enterprise name is signed in at a known realm to which the KDC refers`() async throws {
        try await withRealms { home in
            let session = try await home.makeExtension().signIn("alice@mail.test", realm: "A.TEST", using: .secret)
            #expect(session.principal.realm == "B.TEST")
        }
    }

    /// libkrb5 follows the referral, and another realm's account has the same password.
    @Test func `a principal is not signed in at another realm, although the KDC refers to it`() async throws {
        try await withRealms(["canonicalize": "true"]) { home in
            let kerberos = home.makeExtension()
            let error = await #expect(throws: KerberosError.self) { try await kerberos.signIn("alice@A.TEST", using: .secret) }
            #expect(error?.code == .policyRefused && error?.message.contains("referred to the realm B.TEST") == true, "\(error as Any)")
            let sessions = try await kerberos.sessions().sessions
            #expect(sessions.isEmpty)
        }
    }
}
