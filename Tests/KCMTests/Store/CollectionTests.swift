import Testing

@testable import KCM

/// A user's cache collection: its caches, their names and the default cache, by the rules that MIT's collection tests require.
struct CollectionTests {
    @Test func `an empty collection has a default cache name but no cache`() {
        var client = Client()
        #expect(client.defaultName() == "1000:default")
        #expect(client.send(.principal, client.defaultName()).code == .noCache)
        #expect(client.send(.cacheIdentifiers) == Reply())
    }

    @Test func `only SET_DEFAULT_CACHE changes the default cache name`() {
        var client = Client()
        for name in ["1000:a", "1000:b"] { _ = client.send(.initialize, name, Sample.alice) }
        #expect(client.defaultName() == "1000:default")
        #expect(client.send(.setDefaultCache, "1000:b") == Reply())
        _ = client.send(.initialize, "1000:c", Sample.alice)
        _ = client.send(.replace, "1000:d", replacement([]))
        #expect(client.defaultName() == "1000:b")
        _ = client.send(.destroy, "1000:b")
        #expect(client.defaultName() == "1000:b")
        #expect(client.send(.principal, "").code == .noCache)
        #expect(client.names() == ["1000:a", "1000:c", "1000:d"])
    }

    @Test func `a generated name can become the default before its cache is initialized`() {
        var client = Client()
        let new = name(client.send(.generateName))
        #expect(client.send(.setDefaultCache, new) == Reply())
        #expect(client.names().isEmpty)
        #expect(client.send(.initialize, new, Sample.alice) == Reply())
        #expect(client.defaultName() == new)
        #expect(client.send(.principal, "").body == Sample.alice)
    }

    @Test(arguments: ["", "1000"]) func `the empty name and the bare UID both refer to the default cache`(alias: String) throws {
        var client = Client()
        #expect(client.send(.initialize, alias, Sample.alice) == Reply())
        #expect(client.names() == ["1000:default"])
        _ = client.send(.initialize, "work", Sample.bob)
        _ = client.send(.setDefaultCache, "work")
        #expect(client.send(.principal, alias).body == Sample.bob)
        #expect(client.store(Fields(), in: alias) == .ok)
        #expect(try client.list("work") == [Fields().bytes])
        #expect(client.send(.setDefaultCache, alias) == Reply())
        #expect(client.defaultName() == "work")
        #expect(client.send(.destroy, alias) == Reply())
        #expect(client.names() == ["1000:default"])
    }

    @Test(arguments: ["1001:a", "0:a", "100:a", "10001:a", "01000:a"])
    func `a cache name with the prefix of another UID is refused`(name: String) {
        var client = Client()
        for (operation, body) in [(KCM.Operation.initialize, Sample.alice), (.replace, replacement([])), (.setDefaultCache, [])] {
            #expect(client.send(operation, name, body).code == .badName)
        }
        _ = client.send(.initialize, "a", Sample.alice)
        #expect(client.send(.move, "a", CacheName(name).terminated).code == .badName)
        #expect(client.send(.principal, name).code == .noCache)
        #expect(client.send(.destroy, name).code == .noCache)
        #expect(client.names() == ["a"])
    }

    @Test(arguments: ["/tmp/cctest.123", "1001", "1000:", "1000:a:b", ":a", "a:b", "12a:b", "a b/..", "\u{E4}"])
    func `a cache with any other name can be created`(name: String) {
        var client = Client()
        #expect(client.send(.initialize, name, Sample.alice) == Reply())
        #expect(client.names() == [name])
    }

    @Test func `a cache name of more than 255 bytes is refused`() {
        var client = Client()
        #expect(client.send(.initialize, String(repeating: "a", count: 255), Sample.alice).code == .ok)
        #expect(client.send(.initialize, String(repeating: "a", count: 256), Sample.alice).code == .badName)
        #expect(client.send(.setDefaultCache, String(repeating: "a", count: 256)).code == .badName)
    }

    @Test func `generated cache names are unique and unused`() {
        var client = Client()
        let names = (0..<1000).map { _ in name(client.send(.generateName)) }
        #expect(Set(names).count == 1000)
        #expect(names.allSatisfy { $0.hasPrefix("1000:") && client.send(.principal, $0).code == .noCache })
    }

    @Test func `a destroyed cache's identifier is not reused and the other caches keep theirs`() {
        var client = Client()
        for name in ["a", "b", "c"] { _ = client.send(.initialize, name, Sample.alice) }
        let before = identifiers(client.send(.cacheIdentifiers))
        #expect(client.send(.destroy, "b") == Reply())
        #expect(client.send(.destroy, "b").code == .noCache)
        #expect(identifiers(client.send(.cacheIdentifiers)) == [before[0], before[2]])
        #expect(client.send(.cacheName, nil, before[1]).code == .end)
        #expect(name(client.send(.cacheName, nil, before[2])) == "c")
        _ = client.send(.initialize, "b", Sample.alice)
        #expect(client.send(.cacheName, nil, before[1]).code == .end)
    }

    @Test func `a moved cache replaces its target`() throws {
        var client = Client.signedIn("a")
        _ = client.store(Fields(), in: "a")
        _ = client.send(.initialize, "b", Sample.bob)
        #expect(client.send(.move, "a", CacheName("b").terminated) == Reply())
        #expect(client.names() == ["b"])
        #expect(client.send(.principal, "b").body == Sample.alice)
        #expect(try client.list("b") == [Fields().bytes])
        #expect(client.send(.move, "b", CacheName("b").terminated) == Reply())
        #expect(client.send(.move, "b", CacheName("").terminated) == Reply())
        #expect(client.names() == ["1000:default"])
        #expect(client.defaultName() == "1000:default")
    }
}
