import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Sessions in the shared caches that a keytab can reacquire.
struct KeytabSessionTests {
    private let host = "www.example.test"

    private func makeHome() throws -> CacheHome { try CacheHome(try #require(TestRealm.current)) }

    /// Installs the keys of a user as the client keytab of krb5.conf.
    private func installClientKeytab(of user: String, _ realm: TestRealm) async throws {
        try FileManager.default.moveItem(atPath: try await realm.keytab(for: user), toPath: "\(realm.directory)/client.keytab")
    }

    @Test(.testRealm(users: ["robot": "secret"], services: ["HTTP/www.example.test"]))
    func `the client keytab signs in its principal on demand`() async throws {
        let home = try makeHome()
        try await installClientKeytab(of: "robot", home.realm)
        let kerberos = home.makeExtension()
        #expect(try await kerberos.grant(host).principal == "robot@EXAMPLE.TEST")
        #expect(try await home.run("klist", []).output.contains("Default principal: robot@EXAMPLE.TEST"))
        #expect(try await kerberos.sessions().sessions.first?.acquiredBy == .keytab(""))
        // A principal without a key in it stays signed out.
        #expect(await authorizationError { try await kerberos.grant(host, as: "alice") }?.code == .notSignedIn)
    }

    @Test(.testRealm(users: ["robot": "secret", "alice": "secret"], services: ["HTTP/www.example.test"]))
    func `the client keytab is not used while a user is signed in`() async throws {
        let home = try makeHome()
        try await installClientKeytab(of: "robot", home.realm)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(try home.realm.issued(.initialTicket, client: "robot") == 0)
    }

    @Test(.testRealm(users: ["robot": "secret"], services: ["HTTP/www.example.test", "HTTP/other.example.test"]))
    func `a rejected key of the client keytab is not sent again soon`() async throws {
        let home = try makeHome()
        try await installClientKeytab(of: "robot", home.realm)
        _ = try await home.realm.kadmin(["change_password", "-pw", "another", "robot"])
        let kerberos = home.makeExtension()
        for name in [host, "other.example.test", host] {
            let error = await authorizationError { try await kerberos.grant(name) }
            #expect((error?.cause as? KerberosError)?.code == .wrongPassword)
        }
        #expect(try await home.realm.failedAttempts(of: "robot") == 1)
    }

    /// The KDC was reinstalled, so it cannot decrypt the session's ticket.
    @Test func `a keytab session whose ticket the KDC rejects is reacquired`() async throws {
        let options = TestRealmOptions(users: ["robot": "secret"], services: ["HTTP/www.example.test"])
        try await withTestRealm(options) { former in
            let robot = try Principal("robot@EXAMPLE.TEST")
            let ticket = try await former.makeClient().initialCredential(for: robot, using: .secret)
            try await withTestRealm(options) { realm in
                let home = try CacheHome(realm)
                let kerberos = home.makeExtension()
                let session = try await kerberos.signIn(using: .keytab(try await realm.keytab(for: "robot")))
                let client = realm.makeClient()
                let marks = try await client.contents(of: session.cache).marks
                try await client.replace(session.cache, principal: robot, credentials: [ticket], marks: marks)
                // A new ticket is assumed to be readable by its realm's KDC.
                let refused = await authorizationError { try await kerberos.grant(host) }
                #expect((refused?.cause as? KerberosError)?.code == .ticketRefused)
                #expect(try realm.issued(.initialTicket, client: "robot") == 1)
                home.clock.advance(by: 300)
                #expect(try await kerberos.grant(host).principal == "robot@EXAMPLE.TEST")
                #expect(try realm.issued(.initialTicket, client: "robot") == 2)
            }
        }
    }

    @Test func `a keytab session survives a change of the realm's key`() async throws {
        try await withTestRealm(users: ["robot": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let home = try CacheHome(realm)
            let kerberos = home.makeExtension()
            try await kerberos.signIn(using: .keytab(try await realm.keytab(for: "robot")))
            try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
            home.clock.advance(by: 300)
            #expect(try await kerberos.grant(host).principal == "robot@EXAMPLE.TEST")
            #expect(try realm.issued(.initialTicket, client: "robot") == 2)
        }
    }

    @Test(.testRealm(users: ["robot": "secret"], services: ["HTTP/www.example.test"]))
    func `a keytab session is reacquired before it expires`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn(using: .keytab(try await home.realm.keytab(for: "robot")))
        _ = try await kerberos.grant(host)
        home.clock.advance(by: 7 * 3600)
        _ = try await kerberos.grant(host)
        #expect(try await comesTrue { try home.realm.issued(.initialTicket, client: "robot") == 2 })
        // The key is rejected: the old ticket is used, and the key is sent once.
        _ = try await home.realm.kadmin(["change_password", "-pw", "another", "robot"])
        home.clock.advance(by: 3 * 3600 - 300)
        let isDue = home.makeExtension()
        for _ in 0..<3 {
            #expect(try await isDue.grant(host).principal == "robot@EXAMPLE.TEST")
            // It is sent in the background while the old ticket is used.
            #expect(try await comesTrue { try await home.realm.failedAttempts(of: "robot") == 1 })
            home.clock.advance(by: 10)
        }
        #expect(try await home.realm.failedAttempts(of: "robot") == 1)
    }
}
