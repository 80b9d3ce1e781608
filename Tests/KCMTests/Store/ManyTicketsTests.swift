import TestSupport
import Testing

@testable import KCM

/// The cost of requests on large caches, counted in comparisons because durations depend on the machine.
struct ManyTicketsTests {
    private func client(_ tickets: [Fields]) -> Client {
        var client = Client()
        #expect(client.send(.replace, "", replacement(tickets)) == Reply())
        return client
    }

    @Test(arguments: [1, 10, 100, 10_000]) func `finding a ticket takes one comparison`(count: Int) {
        var client = client((0..<count).map { Sample.ticket($0) })
        for number in [0, count / 2, count - 1] {
            #expect(client.retrieve(Sample.ticket(number), [.times, .authorizationData]).body == Sample.ticket(number).bytes)
            #expect(client.examined == 1)
        }
        #expect(client.retrieve(Sample.ticket(count)).code == .notFound)
        #expect(client.examined == 0)
    }

    @Test func `a lookup that omits the server's realm or the client takes one comparison`() {
        var client = client((0..<5000).map { Sample.ticket($0) })
        _ = client.retrieve(Sample.ticket(77), .serverNameOnly)
        #expect(client.examined == 1)
        #expect(client.retrieve(Sample.ticket(77).with { $0.client = nil }).body == Sample.ticket(77).bytes)
        #expect(client.examined == 1)
    }

    @Test func `one server's tickets for many clients are found with one comparison`() {
        let users = (0..<5000).map { Fields(client: Sample.principal("user\($0)")) }
        var client = client(users)
        #expect(client.retrieve(users[4321]).body == users[4321].bytes)
        #expect(client.examined == 1)
        #expect(client.store(users[17]) == .ok)
        #expect(client.examined == 1)
        #expect(client.send(.remove, "", users[17].patternBytes()) == Reply())
        #expect(client.examined == 1)
    }

    @Test(arguments: [1, 10_000]) func `storing a ticket compares it only with an equivalent one`(count: Int) {
        var client = client((0..<count).map { Sample.ticket($0) })
        #expect(client.store(Sample.ticket(count)) == .ok)
        #expect(client.examined == 0)
        #expect(client.store(Sample.ticket(0)) == .ok)
        #expect(client.examined == 1)
    }

    @Test func `a pattern without a server is compared with every ticket`() {
        var client = client((0..<100).map { Sample.ticket($0) })
        #expect(client.retrieve(Fields(client: Sample.bob, server: nil)).code == .notFound)
        #expect(client.examined == 100)
    }

    /// libkrb5 then lists the cache and searches the list itself (``LongSearchTests``).
    @Test func `a search that reaches the comparison limit is left to the client`() {
        var client = client((0..<2000).map { Sample.ticket($0) })
        let pattern = Fields(client: Sample.bob, server: nil)
        #expect(client.retrieve(pattern).code == .unsupported)
        #expect(client.examined == CredentialList.searchLimit)
        #expect(client.retrieve(pattern.with { $0.client = Sample.alice }).body == Sample.ticket(0).bytes)
    }

    @Test(arguments: [nil, Sample.alice]) func `REMOVE_CRED without a server examines a bounded number of tickets in each turn`(
        client principal: [UInt8]?
    ) throws {
        let ofBob: Set = [700, 1500, 2499]
        var client = client((0..<2500).map { Sample.ticket($0, client: ofBob.contains($0) ? Sample.bob : Sample.alice) })
        let none = Fields(client: principal, server: nil).with { $0.times.end = 9000 }
        #expect(client.send(.remove, "", none.patternBytes(.times)).code == .notFound)
        #expect(client.turns == [1000, 1000, 500])
        #expect(client.send(.remove, "", Fields(client: Sample.bob, server: nil).patternBytes()).code == .ok)
        #expect(client.turns == [1000, 1000, 500])
        #expect(try client.list() == (0..<2500).filter { !ofBob.contains($0) }.map { Sample.ticket($0).bytes })
    }

    @Test(arguments: [Fields(client: nil, server: nil), Fields(client: nil)])
    func `REMOVE_CRED removes a bounded number of tickets in each turn`(pattern: Fields) throws {
        var client = client((0..<150).map { Fields(client: Sample.principal("user\($0)")) } + [Sample.ticket(1)])
        #expect(client.send(.remove, "", pattern.patternBytes()).code == .ok)
        #expect(client.turns == (pattern.server == nil ? [64, 64, 23] : [64, 64, 22]))
        #expect(try client.list() == (pattern.server == nil ? [] : [Sample.ticket(1).bytes]))
    }

    @Test func `REMOVE_CRED does not remove tickets that are stored between its turns`() throws {
        var client = client((0..<100).map { Sample.ticket($0) })
        let request = try Request(Array(requestBytes(.remove, "", Fields(client: nil, server: nil).patternBytes()).dropFirst(4)))
        var other = ConnectionState()
        var count = 0
        repeat {
            for change in client.store.decide(request, connection: &other, now: 1500).changes { client.store.apply(change) }
            #expect(client.store(Sample.ticket(1000 + count)) == .ok)
            count += 1
        } while other.isUnfinished
        #expect(count == 2)
        #expect(try client.list() == [1000, 1001].map { Sample.ticket($0).bytes })
    }

    @Test func `REMOVE_CRED ends when its cache is destroyed between its turns`() throws {
        var client = client((0..<100).map { Sample.ticket($0) })
        let request = try Request(Array(requestBytes(.remove, "", Fields(client: nil, server: nil).patternBytes()).dropFirst(4)))
        var other = ConnectionState()
        _ = client.store.decide(request, connection: &other, now: 1500)
        #expect(other.isUnfinished)
        #expect(client.send(.destroy, "") == Reply())
        #expect(client.store.decide(request, connection: &other, now: 1500).reply.code == .noCache)
        #expect(!other.isUnfinished)
    }

    @Test func `storing a ticket does not compare it with every ticket of the same server`() {
        var client = client((0..<2000).map { number in Fields().with { $0.type = Int16(number + 1) } })
        #expect(client.store(Fields().with { $0.type = 77 }) == .ok)
        #expect(client.examined == 1)
        #expect(client.store(Fields().with { $0.secondTicket = [1] }) == .ok)
        #expect(client.examined == 0)
    }

    @Test func `a ticket stored many times is found with one comparison`() {
        var client = client([])
        for _ in 0..<1000 {
            #expect(client.store(Fields()) == .ok)
            #expect(client.examined <= 1)
        }
        _ = client.retrieve(Fields())
        #expect(client.examined == 1)
        _ = client.send(.remove, "", Fields().patternBytes())
        _ = client.retrieve(Fields())
        #expect(client.examined == 0)
    }

    /// After ten thousand removals and as many stores, the cost is that of the remaining tickets.
    @Test(.computation) func `removed tickets no longer count toward the storage cost`() throws {
        var client = client((0..<1000).map { Sample.ticket($0) })
        let cost = client.store.cost
        for round in 1...10 {
            for number in 0..<1000 {
                #expect(client.send(.remove, "", Sample.ticket(number + (round - 1) * 1000).patternBytes()) == Reply())
                #expect(client.store(Sample.ticket(number + round * 1000)) == .ok)
            }
        }
        #expect(abs(client.store.cost - cost) < 10_000)
        #expect(try client.list() == (10_000..<11_000).map { Sample.ticket($0).bytes })
    }
}
