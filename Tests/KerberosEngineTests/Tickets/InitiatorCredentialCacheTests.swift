import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// The cache of initiator credentials: its size, its keys, and how long an entry is used.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct InitiatorCredentialCacheTests {
    private func key(_ service: String) -> InitiatorCredentialCache.Key { .init(realm: "EXAMPLE.TEST", principal: nil, service: service) }

    private func makeEntry(checked: Date) async throws -> InitiatorCredentialCache.Entry {
        let realm = try #require(TestRealm.current)
        let client = KerberosClient(realm.configuration(defaultCacheName: "FILE:\(realm.directory)/\(UUID().uuidString)"))
        let alice = try Principal("alice@EXAMPLE.TEST")
        let cache = try await client.defaultCacheName()
        let ticket = try await client.initialCredential(for: alice, using: .secret)
        try await client.replace(cache, principal: alice, credentials: [ticket])
        let service = try await client.serviceTicket(for: Principal("HTTP/www.example.test@EXAMPLE.TEST"), in: cache)
        let credential = try await client.initiatorCredential(for: service)
        return .init(credential: credential, authenticated: ticket.times.authenticated, checked: checked)
    }

    @Test func `the credential cache drops the oldest entry when it is full`() async throws {
        let store = InitiatorCredentialCache()
        let now = Date()
        var entry = try await makeEntry(checked: now.addingTimeInterval(-1))
        store.insert(entry, for: key("oldest"), generation: 0)
        entry.checked = now
        for index in 0..<1023 { store.insert(entry, for: key("\(index)"), generation: 0) }
        #expect(store.fresh(key("oldest"), now: now) != nil)
        store.insert(entry, for: key("one too many"), generation: 0)
        #expect(store.fresh(key("oldest"), now: now) == nil)
        #expect(store.fresh(key("0"), now: now) != nil && store.fresh(key("one too many"), now: now) != nil)
    }

    @Test func `a credential requested before a sign-out is not cached after it`() async throws {
        let store = InitiatorCredentialCache()
        let now = Date()
        let entry = try await makeEntry(checked: now)
        let generation = store.generation
        store.removeAll()
        store.insert(entry, for: key("late"), generation: generation)
        #expect(store.fresh(key("late"), now: now) == nil)
    }

    /// A credential that includes the user's own ticket must not be used for a host that may not have it.
    @Test func `credentials with different delegation settings are separate entries`() async throws {
        let store = InitiatorCredentialCache()
        let now = Date()
        var delegating = key("www")
        delegating.delegation = .always
        store.insert(try await makeEntry(checked: now), for: delegating, generation: 0)
        #expect(store.fresh(delegating, now: now) != nil)
        #expect(store.fresh(key("www"), now: now) == nil)
        delegating.delegation = .byPolicy
        #expect(store.fresh(delegating, now: now) == nil)
    }

    @Test func `a cached credential must be checked again after two seconds`() async throws {
        let store = InitiatorCredentialCache()
        let now = Date()
        let entry = try await makeEntry(checked: now)
        store.insert(entry, for: key("www"), generation: 0)
        #expect(store.fresh(key("www"), now: now.addingTimeInterval(1.9)) != nil)
        #expect(store.fresh(key("www"), now: now.addingTimeInterval(2)) == nil)
        #expect(store.fresh(key("www"), now: now.addingTimeInterval(-2)) == nil)  // the machine's clock was set back
        let later = now.addingTimeInterval(60)
        let alice = entry.credential.client
        let bob = try Principal("bob@EXAMPLE.TEST")
        #expect(store.known(key("www"), client: bob, authenticated: entry.authenticated, now: later) == nil)
        #expect(store.known(key("www"), client: alice, authenticated: later, now: later) == nil)
        #expect(store.known(key("www"), client: alice, authenticated: entry.authenticated, now: later) != nil)
        #expect(store.fresh(key("www"), now: later) != nil)
    }

    @Test func `a credential is not used in the last 30 seconds of its ticket`() async throws {
        let store = InitiatorCredentialCache()
        let entry = try await makeEntry(checked: Date())
        let expires = entry.credential.times.expires
        func answers(secondsBefore seconds: Double) -> (usable: Bool, held: Bool) {
            let date = expires.addingTimeInterval(-seconds)
            store.insert(
                .init(credential: entry.credential, authenticated: entry.authenticated, checked: date),
                for: key("www"),
                generation: 0
            )
            let held = store.held(key("www"), client: entry.credential.client, now: date)
            return (store.fresh(key("www"), now: date) != nil, held != nil)
        }
        #expect(answers(secondsBefore: 31) == (true, true))
        #expect(answers(secondsBefore: 29) == (false, true))
        #expect(answers(secondsBefore: -1) == (false, false))
    }
}
