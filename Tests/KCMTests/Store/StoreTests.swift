import Testing

@testable import KCM

/// The KCM operations on one cache.
struct StoreTests {
    private static let onOneCache: [KCM.Operation] = [
        .destroy, .store, .retrieve, .principal, .credentialIdentifiers, .credential, .remove, .move, .clockOffset, .setClockOffset,
        .credentialList,
    ]

    /// A body that the operation can decode; its contents do not matter.
    private static func body(_ operation: KCM.Operation) -> [UInt8] {
        switch operation {
        case .store: Fields().bytes
        case .retrieve, .remove: Fields().patternBytes()
        case .move: CacheName("b").terminated
        default: [UInt8](repeating: 0, count: 16)
        }
    }

    @Test(arguments: onOneCache) func `an operation on a missing cache fails and does not create it`(operation: KCM.Operation) {
        var client = Client()
        #expect(client.send(operation, "a", Self.body(operation)).code == .noCache)
        #expect(client.store.caches.isEmpty)
    }

    @Test func `NOOP and SET_FLAGS succeed`() {
        var client = Client()
        #expect(client.send(.noOperation) == Reply())
        #expect(client.send(.setFlags, "a", [0, 0, 0, 1]) == Reply())
    }

    @Test func `initializing a cache again clears it and keeps its identifier`() throws {
        var client = Client()
        #expect(client.send(.initialize, "a", Sample.alice) == Reply())
        #expect(client.send(.principal, "a").body == Sample.alice)
        #expect(client.store(Fields(), in: "a") == .ok)
        _ = client.send(.setClockOffset, "a", encoded(-30))
        let before = identifiers(client.send(.cacheIdentifiers))

        #expect(client.send(.initialize, "a", Sample.bob) == Reply())
        #expect(client.send(.principal, "a").body == Sample.bob)
        #expect(try client.list("a").isEmpty)
        #expect(client.send(.clockOffset, "a").body == encoded(0))
        #expect(identifiers(client.send(.cacheIdentifiers)) == before)
    }

    @Test func `principals and credentials are returned byte for byte`() throws {
        var client = Client()
        let realm = "REALM\0"
        let owner = Sample.principal("client-comp1", "\u{FF}", realm: realm)
        let held = Fields(client: owner, server: Sample.principal("a\0b", "", realm: realm, type: 77), addresses: [[1, 2, 3, 4]])
        _ = client.send(.initialize, "a", owner + [0])
        #expect(client.send(.store, "a", held.bytes + [0, 1]).code == .ok)
        #expect(client.send(.principal, "a").body == owner)
        #expect(try client.list("a") == [held.bytes])
        #expect(client.retrieve(held, from: "a").body == held.bytes)
    }

    @Test func `credential identifiers are listed in the order in which credentials were stored`() throws {
        var client = Client.signedIn()
        let tickets = (0..<40).map { Sample.ticket($0 * 7 % 40) }
        for ticket in tickets { #expect(client.store(ticket) == .ok) }
        let listed = identifiers(client.send(.credentialIdentifiers, ""))
        #expect(Set(listed).count == 40)
        #expect(listed.map { client.send(.credential, "", $0).body } == tickets.map(\.bytes))
        #expect(try client.list() == tickets.map(\.bytes))
    }

    @Test func `an iteration continues while the cache changes`() throws {
        var client = Client.signedIn()
        for number in 0..<100 { _ = client.store(Sample.ticket(number)) }
        let listed = identifiers(client.send(.credentialIdentifiers, ""))
        for number in 0..<90 { #expect(client.send(.remove, "", Sample.ticket(number).patternBytes()).code == .ok) }
        _ = client.store(Sample.ticket(200))
        #expect(client.send(.credential, "", listed[3]).code == .end)
        #expect(client.send(.credential, "", listed[95]).body == Sample.ticket(95).bytes)
        #expect(try client.list() == ((90..<100) + [200]).map { Sample.ticket($0).bytes })
    }

    @Test func `a credential identifier is valid only in its own cache`() {
        var client = Client.signedIn("a")
        _ = client.send(.initialize, "b", Sample.bob)
        _ = client.store(Sample.ticket(1), in: "a")
        _ = client.store(Sample.ticket(2), in: "b")
        let listed = identifiers(client.send(.credentialIdentifiers, "a"))
        #expect(client.send(.credential, "b", listed[0]).code == .end)
        _ = client.send(.initialize, "a", Sample.alice)
        _ = client.store(Sample.ticket(3), in: "a")
        #expect(client.send(.credential, "a", listed[0]).code == .end)
    }

    @Test func `REMOVE_CRED removes every matching credential`() throws {
        var client = Client.signedIn()
        for type in [17, 18, 20] as [Int16] { _ = client.store(Fields(type: type)) }
        _ = client.store(Sample.ticket(1))
        #expect(client.send(.remove, "", Fields().patternBytes()) == Reply())
        #expect(client.send(.remove, "", Fields().patternBytes()).code == .notFound)
        #expect(try client.list() == [Sample.ticket(1).bytes])
    }

    @Test func `STORE replaces an equivalent credential`() throws {
        var client = Client.signedIn()
        for time in 0..<300 {
            #expect(client.store(Sample.setting("refresh_time", value: "\(time)")) == .ok)
            #expect(client.store(Fields(times: CredentialTimes(end: UInt32(time)))) == .ok)
        }
        #expect(try client.list() == [Sample.setting("refresh_time", value: "299").bytes, Fields(times: CredentialTimes(end: 299)).bytes])
    }

    @Test(arguments: [
        Fields(client: Sample.bob), Fields(server: Sample.principal("HTTP", "server", realm: "OTHER.TEST")), Fields(type: 17),
        Fields(isSessionKey: 1), Fields(authorizationData: [[1]]), Fields(secondTicket: [1]),
    ])
    func `STORE keeps a credential that differs in a field used for matching`(other: Fields) throws {
        var client = Client.signedIn()
        _ = client.store(Fields())
        _ = client.store(other)
        #expect(try client.list() == [Fields().bytes, other.bytes])
    }

    @Test func `REPLACE replaces the principal, the clock offset and all credentials`() throws {
        var client = Client.signedIn("a")
        for number in 0..<20 { _ = client.store(Sample.ticket(number), in: "a") }
        let new = [Sample.ticket(5, client: Sample.bob), Sample.setting("pa_type", value: "2"), Sample.ticket(1, client: Sample.bob)]
        #expect(client.send(.replace, "a", replacement(offset: -7, principal: Sample.bob, new)) == Reply())
        #expect(try client.list("a") == new.map(\.bytes))
        #expect(client.send(.principal, "a").body == Sample.bob)
        #expect(client.send(.clockOffset, "a").body == encoded(-7))
        #expect(client.retrieve(Sample.ticket(7), from: "a").code == .notFound)
    }

    @Test func `REPLACE creates a missing cache and drops duplicate credentials`() throws {
        var client = Client()
        #expect(client.send(.replace, "a", replacement([Fields(), Fields()])) == Reply())
        #expect(try client.list("a") == [Fields().bytes])
    }

    @Test func `a malformed REPLACE changes nothing`() throws {
        var client = Client.signedIn("a")
        _ = client.store(Sample.ticket(1), in: "a")
        let body = replacement(principal: Sample.bob, [Sample.ticket(2), Sample.ticket(3)])
        for length in 0..<body.count {
            #expect(client.send(.replace, "a", Array(body.prefix(length))).code == .malformed)
        }
        #expect(client.send(.principal, "a").body == Sample.alice)
        #expect(try client.list("a") == [Sample.ticket(1).bytes])
    }

    @Test func `an empty cache is not reported as a missing one`() throws {
        var client = Client.signedIn("a")
        #expect(client.send(.credentialIdentifiers, "a") == Reply())
        #expect(try client.list("a").isEmpty)
        #expect(client.retrieve(Fields(), from: "a").code == .notFound)
    }
}
