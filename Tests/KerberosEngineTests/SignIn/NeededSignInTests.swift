import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KerberosEngine

private let options = TestRealmOptions(users: ["alice": "secret"], clientRelations: ["ticket_lifetime": "1h"])

/// `signInIfNeeded` of several callers, and the lifetime that it requests.
@Suite(.testRealm(options)) struct NeededSignInTests {
    private func makeHome() throws -> CacheHome { try CacheHome(try #require(TestRealm.current)) }

    private func key(_ kerberos: KerberosExtension, _ prompter: any Prompter) throws -> NeededSignIn {
        let alice = try Principal("alice@EXAMPLE.TEST")
        return NeededSignIn(wanted: alice, question: Question(of: alice, .prompter(prompter), under: kerberos.policy))
    }

    @Test func `concurrent calls share one prompt`() async throws {
        let prompter = CountingPrompter(answer: "secret", waits: true)
        let kerberos = try makeHome().makeExtension()
        let key = try key(kerberos, prompter)
        try await withThrowingTaskGroup(of: Session.self) { group in
            for _ in 0..<10 { group.addTask { try await kerberos.signInIfNeeded("alice", using: .prompter(prompter)) } }
            await prompter.asked()
            #expect(try await comesTrue { kerberos.signIns.needed.waiters(for: key) == 10 || prompter.count > 1 })
            for _ in 0..<10 { prompter.release() }
            for try await session in group { #expect(session.isSignedIn) }
        }
        #expect(prompter.count == 1)
    }

    @Test func `a caller that requires a longer validity than the one that it joined gets it`() async throws {
        let prompter = CountingPrompter(answer: "secret", waits: true)
        let kerberos = try makeHome().makeExtension()
        let key = try key(kerberos, prompter)
        async let short = kerberos.signInIfNeeded("alice", using: .prompter(prompter))
        await prompter.asked()
        async let long = kerberos.signInIfNeeded("alice", using: .prompter(prompter), validFor: .seconds(7200))
        #expect(try await comesTrue { kerberos.signIns.needed.waiters(for: key) == 2 })
        for _ in 0..<2 { prompter.release() }
        let difference = try await long.ticketExpires.timeIntervalSince(short.ticketExpires)
        #expect(difference > 3000)
        #expect(prompter.count == 2)
    }

    /// krb5.conf's default is one hour.
    @Test(arguments: [(600.0, nil, 3600.0), (7200, nil, 7500), (7200, 1800, 1800)] as [(Double, Double?, Double)])
    func `a lifetime is requested only if the default one is too short and the caller names none`(
        validity: Double,
        lifetime: Double?,
        expected: Double
    ) async throws {
        let home = try makeHome()
        let session = try await home.makeExtension().signInIfNeeded(
            "alice",
            using: .secret,
            validFor: .seconds(validity),
            options: .init(lifetime: lifetime.map { .seconds($0) })
        )
        #expect(abs(session.ticketExpires.timeIntervalSince(home.clock.now) - expected) < 60)
    }
}
