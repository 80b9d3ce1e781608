import Testing

@testable import KCM

/// A user's limits on caches and bytes: expired tickets make room, valid ones stay, and libkrb5 does not work around a refusal.
struct LimitTests {
    /// Room for one cache and about ten tickets.
    private let small = StoreLimits(caches: 2, bytes: 1100 + 10 * 600)

    private func full() -> Client {
        var client = Client.signedIn("a", limits: small)
        var number = 0
        while client.store(Sample.ticket(number), in: "a") == .ok { number += 1 }
        return client
    }

    @Test func `a request above the user's storage limit is refused and changes nothing`() throws {
        var client = full()
        let held = try client.list("a")
        #expect((8...12).contains(held.count))
        #expect(client.store.cost <= small.bytes)
        #expect(client.store(Sample.ticket(100), in: "a") == .quotaExceeded)
        #expect(client.send(.initialize, "b", Sample.bob).code == .quotaExceeded)
        #expect(client.send(.replace, "b", replacement([Fields()])).code == .quotaExceeded)
        #expect(try client.list("a") == held)
        #expect(client.names() == ["a"])
    }

    @Test func `existing tickets and caches can be replaced at the storage limit`() {
        var client = full()
        for _ in 0..<100 { #expect(client.store(Sample.ticket(0), in: "a") == .ok) }
        #expect(client.send(.replace, "a", replacement([Sample.ticket(7)])) == Reply())
        #expect(client.send(.initialize, "a", Sample.bob) == Reply())
        #expect(client.store(Sample.ticket(100), in: "a") == .ok)
    }

    @Test func `a REPLACE above the storage limit changes nothing`() throws {
        var client = full()
        let held = try client.list("a")
        #expect(client.send(.replace, "a", replacement((0..<30).map { Sample.ticket($0) })).code == .quotaExceeded)
        #expect(try client.list("a") == held)
    }

    @Test func `expired tickets are removed to make room, valid tickets and settings are not`() throws {
        var client = Client.signedIn("a", limits: small)
        _ = client.store(Sample.setting("pa_type", value: "2"), in: "a")
        _ = client.store(Sample.ticket(0, end: 9000), in: "a")
        var number = 1
        while client.store(Sample.ticket(number, end: 2000), in: "a") == .ok { number += 1 }
        client.now = 2300
        #expect(client.store(Sample.ticket(100, end: 9000), in: "a") == .quotaExceeded)
        client.now = 2301
        #expect(client.store(Sample.ticket(100, end: 9000), in: "a") == .ok)
        let left = [Sample.setting("pa_type", value: "2"), Sample.ticket(0, end: 9000), Sample.ticket(100, end: 9000)]
        #expect(try client.list("a") == left.map(\.bytes))
        #expect(client.store.cost <= small.bytes)
    }

    @Test(arguments: [0, 100]) func `an expired ticket makes room for exactly its own size`(number: Int) throws {
        var client = Client.signedIn("a", limits: small)
        _ = client.store(Sample.ticket(0, end: 1500), in: "a")
        var other = 1
        while client.store(Sample.ticket(other, end: 9000), in: "a") == .ok { other += 1 }
        let held = try client.list("a")
        client.now = 2000
        let spare = small.bytes - client.store.cost
        let room = spare + Sample.ticket(0).bytes.count - Sample.ticket(number).bytes.count + Fields().ticket.count
        let fitting = Sample.ticket(number, end: 9000).with { $0.ticket = [UInt8](repeating: 1, count: room) }
        #expect(client.store(fitting.with { $0.ticket.append(1) }, in: "a") == .quotaExceeded)
        #expect(try client.list("a") == held)
        #expect(client.store(fitting, in: "a") == .ok)
        #expect(client.store.cost == small.bytes)
        #expect(try client.list("a") == held.dropFirst() + [fitting.bytes])
    }

    @Test(
        arguments: [(-3600, 5900, false), (-3600, 5901, true), (3600, 0, true), (0, 2300, false), (0, 2301, true)]
            as [(Int32, UInt32, Bool)]
    )
    func `a ticket expires by the KDC's clock`(offset: Int32, now: UInt32, expires: Bool) {
        var client = Client()
        _ = client.send(.replace, "a", replacement(offset: offset, [Sample.ticket(1)]))
        #expect(client.store.cache(CacheName("a"))?.expired(now: now).count == (expires ? 1 : 0))
    }

    @Test func `a user cannot have more caches than the limit`() {
        var client = Client(limits: StoreLimits(caches: 3))
        for name in ["a", "b", "c"] { #expect(client.send(.initialize, name, Sample.alice).code == .ok) }
        #expect(client.send(.initialize, "d", Sample.alice).code == .quotaExceeded)
        #expect(client.send(.replace, "d", replacement([])).code == .quotaExceeded)
        #expect(client.send(.initialize, "b", Sample.alice).code == .ok)
        #expect(client.send(.move, "a", CacheName("d").terminated).code == .ok)
        #expect(client.names() == ["d", "b", "c"])
    }

    @Test func `a new cache replaces the oldest expired cache that is not the default`() {
        var client = Client(limits: StoreLimits(caches: 4))
        for (name, end) in [("first", 2000), ("live", 9000), ("old", 2000), ("older", 2000)] as [(String, UInt32)] {
            _ = client.send(.replace, name, replacement([Sample.setting("pa_type", value: "2"), Sample.ticket(1, end: end)]))
        }
        _ = client.send(.setDefaultCache, "first")
        client.now = 3000
        #expect(client.send(.initialize, "new", Sample.alice) == Reply())
        #expect(client.names() == ["first", "live", "older", "new"])
        #expect(client.send(.initialize, "newer", Sample.alice) == Reply())
        #expect(client.send(.initialize, "newest", Sample.alice).code == .quotaExceeded)
        #expect(client.names() == ["first", "live", "new", "newer"])
    }

    /// After the three codes in this test, libkrb5 falls back to its older requests, which are slower and not atomic.
    @Test(arguments: [ReplyCode.limitReached, .quotaExceeded, .badName, .malformed, .notPermitted, .writeFailed, .noCache, .notFound, .end])
    func `libkrb5 does not take a refusal for an unknown operation`(code: ReplyCode) {
        #expect(![-1_765_328_188, -1_765_328_191, -1_765_328_137].contains(code.rawValue))
    }

    @Test func `a credential list too long for one reply is fetched one credential at a time`() {
        var client = Client.signedIn()
        let size = 1 << 20
        for number in 0..<9 { _ = client.store(Sample.ticket(number).with { $0.ticket = [UInt8](repeating: 7, count: size) }) }
        #expect(client.send(.credentialList, "").code == .ok)
        _ = client.store(Sample.ticket(9).with { $0.ticket = [UInt8](repeating: 7, count: size) })
        #expect(client.send(.credentialList, "") == Reply(code: .unsupported))
        let listed = identifiers(client.send(.credentialIdentifiers, ""))
        #expect(listed.count == 10)
        #expect(client.send(.credential, "", listed[9]).body.count > size)
    }
}
