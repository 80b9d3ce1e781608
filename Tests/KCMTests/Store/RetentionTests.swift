import Foundation
import KerberosTesting
import KerberosTestingTraits
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// Which expired tickets and caches the server removes without a client's request.
struct RetentionTests {
    private static let renewable: UInt32 = 0x0080_0000
    private static let day: UInt32 = 86_400

    @Test(arguments: [0, 3600, -3600] as [Int32])
    func `storing a valid ticket removes the cache's expired tickets, by the KDC's clock`(_ offset: Int32) throws {
        var client = Client()
        let setting = Sample.setting("pa_type", value: "2")
        let tickets = [(1, 20_000), (2, 20_001), (3, 50_000)].map { Sample.ticket($0, end: $1) }
        _ = client.send(.replace, "a", replacement(offset: offset, [setting] + tickets))
        _ = client.send(.replace, "b", replacement(offset: offset, [Sample.ticket(1, end: 20_000)]))
        client.now = UInt32(20_301 - Int64(offset))
        let new = Sample.ticket(4, end: 60_000)
        #expect(client.store(new, in: "a") == .ok)
        #expect(try client.list("a") == [setting, tickets[1], tickets[2], new].map(\.bytes))
        #expect(try client.list("b").count == 1)
    }

    @Test(arguments: [Sample.setting("refresh_time", value: "1"), Sample.ticket(9, end: 2000)])
    func `storing a setting or an already expired ticket removes no expired tickets`(_ other: Fields) throws {
        var client = Client.signedIn("a")
        _ = client.store(Sample.ticket(1, end: 2000), in: "a")
        client.now = 9000
        #expect(client.store(other, in: "a") == .ok)
        #expect(try client.list("a").count == 2)
    }

    @Test func `replacing an expired ticket also removes the other expired tickets`() throws {
        var client = Client.signedIn("a")
        for number in 0..<5 { _ = client.store(Sample.ticket(number, end: 2000), in: "a") }
        client.now = 9000
        #expect(client.store(Sample.ticket(3, end: 20_000), in: "a") == .ok)
        #expect(try client.list("a") == [Sample.ticket(3, end: 20_000).bytes])
    }

    @Test(.computation) func `the index finds the same expired tickets as a search through all tickets`() throws {
        var random = SeededGenerator(seed: 1)
        var list = CredentialList()
        for step in 0..<2000 {
            if Bool.random(using: &random), list.count > 20, let serial = list.all.map(\.serial).randomElement(using: &random) {
                list.remove(serial)
            }
            list.append(try Sample.ticket(step, end: .random(in: 0...5000, using: &random)).credential())
            let time = Int64.random(in: 0...6000, using: &random)
            #expect(list.expired(at: time) == list.all.filter { $0.credential.hasExpired(at: time) }.map(\.serial))
        }
    }

    private static let lives: [(Fields, UInt32)] = [
        (Sample.ticket(1, end: 10_000), 10_000),
        (Sample.ticket(1, end: 10_000).with { $0.times.renewTill = 90_000 }, 10_000),
        (Sample.ticket(1, end: 10_000).with { ($0.times.renewTill, $0.flags) = (90_000, renewable) }, 90_000),
    ]

    @Test(arguments: lives)
    func `a cache is abandoned a set time after its last ticket is neither valid nor renewable`(_ ticket: Fields, _ end: UInt32) {
        var client = Client()
        _ = client.send(.replace, "a", replacement(offset: 60, [Sample.ticket(0), ticket, Sample.setting("pa_type", value: "2")]))
        for (now, isAbandoned) in [(end - 60 + Self.day, false), (end - 60 + Self.day + 1, true)] {
            let names = client.store.abandoned(now: now, after: Int64(Self.day), keepsPrimary: true).map(\.cache.name)
            #expect(names == (isAbandoned ? [CacheName("a")] : []))
        }
    }

    @Test(arguments: [true, false]) func `the primary cache is kept while the user has a session`(_ hasSession: Bool) {
        var client = Client()
        for name in ["", "other"] { _ = client.send(.replace, name, replacement([Sample.ticket(1)])) }
        let names = client.store.abandoned(now: 100 * Self.day, after: 0, keepsPrimary: hasSession).map(\.cache.name.description)
        #expect(names == (hasSession ? [] : ["1000:default"]) + ["other"])
    }

    @Test func `a new cache replaces an expired one, but neither the primary nor an exempt one`() {
        var client = Client(limits: StoreLimits(caches: 3))
        client.store.isExempt = { $0.setting("kept") != nil }
        let kept = [Sample.ticket(1, end: 2000), Sample.setting("kept", value: "1")]
        _ = client.send(.replace, "kept", replacement(kept))
        for name in ["other", ""] { _ = client.send(.replace, name, replacement([Sample.ticket(1, end: 2000)])) }
        client.now = 90_000
        #expect(client.send(.initialize, "new", Sample.alice).code == .ok)
        #expect(client.store.caches.map(\.name.description).sorted() == ["1000:default", "kept", "new"])
        #expect(client.store(Sample.ticket(1, end: 95_000), in: "new") == .ok)
        #expect(client.send(.initialize, "one more", Sample.alice).code == .quotaExceeded)
    }

    /// The server looks for them itself, without a call.
    @Test func `abandoned caches are removed after a while, and exempt ones stay`() async throws {
        var options = KCMServer.Options.forEveryone()
        options.retention.keepsPrimary = { _ in false }
        options.retention.isExempt = { $0.setting("kept") != nil }
        let removed = Mutex<[String]>([])
        options.retention.removed = { cache in removed.withLock { $0.append("\(cache.cache.name)") } }
        options.retention.interval = .milliseconds(1)
        try await withServer(options) { running in
            try await withConnection(running.path) { connection async throws in
                let expired = replacement([Sample.ticket(1)])
                let valid = replacement([Sample.ticket(1, end: .max)])
                let kept = replacement([Sample.ticket(1), Sample.setting("kept", value: "1")])
                for (name, contents) in [("kept", kept), ("valid", valid), ("expired", expired)] {
                    #expect(try await connection.code(.replace, name, contents) == .ok)
                }
                #expect(try await comesTrue { removed.withLock { $0 } == ["expired"] })
                #expect(try await connection.code(.principal, "expired") == .noCache)
                for name in ["kept", "valid"] { #expect(try await connection.code(.principal, name) == .ok) }
                #expect(CacheRetention().interval <= .seconds(3600), "the default")
            }
        }
    }

    @Test func `one request removes a bounded number of expired tickets`() throws {
        var client = Client.signedIn("a")
        for number in 0..<150 { _ = client.store(Sample.ticket(number, end: 2000), in: "a") }
        client.now = 9000
        for (number, rest) in [(1000, 86 + 1), (1001, 22 + 2), (1002, 3)] {
            #expect(client.store(Sample.ticket(number, end: 20_000), in: "a") == .ok)
            #expect(try client.list("a").count == rest)
        }
    }

    @Test func `a cache with a ticket that has no end time is never abandoned`() {
        var client = Client()
        _ = client.send(.replace, "a", replacement([Sample.ticket(1), Sample.ticket(2, end: 0)]))
        #expect(client.store.abandoned(now: .max, after: 0, keepsPrimary: false).isEmpty)
    }

    @Test func `the age of a cache without tickets counts from its last write, even after a restart`() async throws {
        try await withFolder { folder in
            let now = UInt32(time(nil))
            var disk = try Disk(folder, now: now)
            disk.send(.initialize, "a", Sample.alice)
            for disk in [disk, try Disk(folder, now: now)] {
                #expect(disk.account.store.abandoned(now: now + Self.day - 60, after: Int64(Self.day), keepsPrimary: false).isEmpty)
                #expect(disk.account.store.abandoned(now: now + Self.day + 600, after: Int64(Self.day), keepsPrimary: false).count == 1)
            }
        }
    }

    @Test func `a restart does not change a cache whose tickets have all expired`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.replace, "a", replacement([Sample.ticket(1), Sample.ticket(2)]))
            #expect(try Disk(folder, now: 9000).state == disk.state)
        }
    }

    @Test func `a cache returns the value of a setting by its full name`() throws {
        var client = Client()
        _ = client.send(.replace, "a", replacement([Sample.ticket(1), Sample.setting("ksso_acquired_by", value: "keytab")]))
        let cache = try #require(client.store.cache(CacheName("a")))
        #expect(cache.setting("ksso_acquired_by").map { String(decoding: $0, as: UTF8.self) } == "keytab")
        #expect(cache.setting("ksso") == nil)
    }
}

/// The removal of expired tickets and caches as libkrb5's programs see it, with a server whose clock the test moves.
@Suite(.testRealm(users: ["alice": "wonderland", "bob": "builder", "carol": "singer"], services: ["HTTP/server", "host/other"]))
struct RetentionProgramTests {
    private final class Surroundings: Sendable {
        let passed = Atomic<UInt32>(0)
        let removed = Mutex<[AbandonedCache]>([])

        func options(directory: String? = nil) -> KCMServer.Options {
            var options = KCMServer.Options.forEveryone(directory: directory) { UInt32(time(nil)) + self.passed.load(ordering: .relaxed) }
            options.retention.isExempt = { $0.setting("kept") != nil }
            options.retention.removed = { abandoned in self.removed.withLock { $0.append(abandoned) } }
            return options
        }
    }

    @Test func `an expired service ticket is removed when the next one is stored`() async throws {
        let realm = try #require(TestRealm.current)
        _ = try await realm.kadmin(["modify_principal", "-maxlife", "5 minutes", "HTTP/server"])
        let surroundings = Surroundings()
        try await withServer(surroundings.options()) { running in
            #expect(try await running.run("kinit", "alice", in: realm, input: "wonderland\n").exitStatus == 0)
            #expect(try await running.run("kvno", "HTTP/server", in: realm).exitStatus == 0)
            #expect(try await running.run("klist", in: realm).output.contains("HTTP/server"))
            surroundings.passed.store(660, ordering: .relaxed)
            #expect(try await running.run("kvno", "host/other", in: realm).exitStatus == 0)
            let list = try await running.run("klist", in: realm).output
            #expect(list.contains("krbtgt/") && list.contains("host/other") && !list.contains("HTTP/server"), "\(list)")
        }
    }

    @Test func `caches that expired long ago are removed and reported, except the primary cache`() async throws {
        let realm = try #require(TestRealm.current)
        let surroundings = Surroundings()
        try await withFolder { folder in
            try await withServer(surroundings.options(directory: "\(folder)/caches")) { running in
                for (user, password) in [("alice", "wonderland"), ("bob", "builder"), ("carol", "singer")] {
                    let result = try await running.run("kinit", user, in: realm, input: "\(password)\n")
                    #expect(result.exitStatus == 0, "\(result.errors)")
                }
                for days in [1, 6, 9] as [UInt32] {
                    surroundings.passed.store(days * 86_400, ordering: .relaxed)
                    await running.server.removeAbandonedCaches()
                    let list = try await running.run("klist", "-l", in: realm).output
                    #expect(list.contains("carol@"), "the primary cache is kept\n\(list)")
                    #expect(list.contains("alice@") == (days < 9) && list.contains("bob@") == (days < 9), "after \(days) days\n\(list)")
                }
                let removed = surroundings.removed.withLock { $0 }
                #expect(removed.map(\.user) == [geteuid(), geteuid()])
                #expect(removed.map { "\($0.cache.principal.text)" }.sorted() == ["alice@\(realm.name)", "bob@\(realm.name)"])
                #expect(try await running.run("klist", "-l", in: realm).output.contains("carol@"))
            }
        }
    }
}
