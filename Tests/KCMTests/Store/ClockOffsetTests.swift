import Testing

@testable import KCM

/// How the server makes libkrb5 fetch the KDC's clock offset: RETRIEVE does not carry it, so RETRIEVE is refused, and libkrb5 lists the
/// cache, until the connection has requested the offset.
struct ClockOffsetTests {
    private func behind() -> Client {
        var client = Client()
        _ = client.send(.replace, "a", replacement(offset: -3600, [Fields()]))
        client.connection = ConnectionState()
        return client
    }

    @Test func `RETRIEVE is refused until the connection has requested the clock offset`() {
        var client = behind()
        #expect(client.retrieve(Fields(), from: "a").code == .unsupported)
        #expect(client.retrieve(Sample.ticket(1), from: "a").code == .unsupported)
        #expect(client.send(.clockOffset, "a").body == encoded(-3600))
        #expect(client.retrieve(Fields(), from: "a").body == Fields().bytes)
        client.connection = ConnectionState()
        #expect(client.retrieve(Fields(), from: "a").code == .unsupported)
    }

    @Test func `RETRIEVE is not refused for a cache without a clock offset`() {
        var client = Client.signedIn("a")
        client.connection = ConnectionState()
        #expect(client.retrieve(Fields(), from: "a").code == .notFound)
    }

    @Test func `a client that sets the clock offset need not request it`() {
        var client = behind()
        _ = client.send(.setClockOffset, "a", encoded(5))
        #expect(client.retrieve(Fields(), from: "a").code == .ok)
        _ = client.send(.replace, "a", replacement(offset: 6, [Fields()]))
        #expect(client.retrieve(Fields(), from: "a").code == .ok)
    }

    @Test(arguments: [0, 1800] as [Int32]) func `RETRIEVE is refused again after another client changes the clock offset`(offset: Int32) {
        var client = behind()
        _ = client.send(.clockOffset, "a")
        var other = ConnectionState()
        _ = client.store.decide(.clockOffset(CacheName("a")), connection: &other, now: 0)
        client.store.apply(.setClockOffset(CacheName("a"), offset))
        #expect(client.retrieve(Fields(), from: "a").code == .unsupported)
        #expect(client.send(.clockOffset, "a").body == encoded(offset))
        #expect(client.retrieve(Fields(), from: "a").code == .ok)
    }

    @Test func `requesting one cache's clock offset does not count for another cache`() {
        var client = behind()
        _ = client.send(.initialize, "b", Sample.alice)
        _ = client.send(.clockOffset, "b")
        #expect(client.retrieve(Fields(), from: "a").code == .unsupported)
        #expect(client.retrieve(Fields(), from: "b").code == .notFound)
    }

    @Test func `all names of the default cache share one clock offset`() {
        var client = Client()
        _ = client.send(.replace, "", replacement(offset: 60, [Fields()]))
        client.connection = ConnectionState()
        #expect(client.send(.clockOffset, "1000").body == encoded(60))
        #expect(client.retrieve(Fields(), from: "1000:default").code == .ok)
    }

    @Test func `a connection that has learned many clock offsets forgets the oldest`() {
        var state = ConnectionState()
        for number in 1...100 as ClosedRange<Int32> { state.learn(number, of: CacheName("\(number)")) }
        #expect(state.knows(100, of: CacheName("100")))
        #expect(!state.knows(1, of: CacheName("1")))
        #expect(state.knows(0, of: CacheName("1")))
    }
}
