import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// How often a sign-in reads the caches of all principals. A server of KCM caches counts the readings of one that the sign-in does not
/// concern.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"])) struct CacheReadingTests {
    private static let hour = InitialCredentialOptions(lifetime: .seconds(3600))

    /// Signs in bob, and returns how often the call reads his cache.
    private func readings(
        signedIn: Bool = false,
        _ call: (KerberosExtension) async throws -> Void
    ) async throws -> Int {
        try await CacheServerRelay.run { relay in
            var home = try CacheHome(try #require(TestRealm.current))
            home.options.defaultCacheName = "KCM:"
            home.options.cacheSocket = relay.path
            home.options.additionalCacheDirectory = nil
            home.options.userName = "alice"
            let bob = try await home.makeExtension().signIn("bob", using: .secret)
            if signedIn { try await home.makeExtension().signIn("alice", using: .secret, options: Self.hour) }
            let kerberos = home.makeExtension()
            let start = relay.readings(of: bob.cache)
            _ = try await home.makeExtension().sessions()
            let before = relay.readings(of: bob.cache)
            // libkrb5 lists a cache more than once to read it.
            let once = before - start
            try #require(once > 0)
            try await call(kerberos)
            let count = relay.readings(of: bob.cache) - before
            let sessions = try await home.makeExtension().sessions().sessions
            #expect(sessions.count == 2 && count.isMultiple(of: once))
            return count / once
        }
    }

    @Test func `a sign-in that is needed reads the caches once`() async throws {
        let count = try await readings { try await $0.signInIfNeeded("alice", using: .secret) }
        #expect(count == 1)
    }

    @Test func `a sign-in in place of a ticket that expires too soon reads the caches once`() async throws {
        let count = try await readings(signedIn: true) {
            let session = try await $0.signInIfNeeded("alice", using: .secret, validFor: .seconds(7200))
            #expect(session.ticketExpires.timeIntervalSinceNow > 7000)
        }
        #expect(count == 1)
    }

    @Test(arguments: [false, true], [nil, .seconds(7200)] as [Duration?])
    func `a sign-in of the command reads the caches once`(signedIn: Bool, validity: Duration?) async throws {
        let count = try await readings(signedIn: signedIn) {
            let result = try await $0.signIn(
                "alice",
                realm: nil,
                keytab: nil,
                unless: .present,
                validFor: validity,
                options: .init(),
                cache: nil
            ) { principal in
                #expect(principal.description == "alice@EXAMPLE.TEST")
                return .secret
            }
            #expect(result.origin == (signedIn && validity == nil ? .present : .signedIn))
        }
        #expect(count == 1)
    }
}
