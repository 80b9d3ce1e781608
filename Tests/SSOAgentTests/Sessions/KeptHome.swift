import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import SignOnPolicy
import TestSupport

@testable import SSOAgent

/// One user's caches in a realm, and a keeper for them whose clock the test moves.
struct KeptHome {
    let realm: TestRealm
    let directory: String
    var cacheName: String
    /// The krb5.conf files of every program that uses these caches.
    var configurationFiles: [String]
    var clock = ManualWakeClock()
    let hub = EventHub()
    /// The failures that the keeper logged.
    let log = Recorded<String>()
    /// The sign-outs that the keeper logged.
    let notes = Recorded<String>()
    var configurations: [ExtensionConfiguration]
    let secrets = MemorySecretStore()

    init(_ realm: TestRealm, cache: String = "FILE", limits: SessionLimits = .init()) throws {
        self.realm = realm
        directory = "\(realm.directory)/home-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        configurationFiles = [realm.configurationPath]
        cacheName = "\(cache):\(directory)/\(cache == "DIR" ? "collection" : "cache")"
        configurations = [.init(realm: realm.name, hosts: [try HostRule(".example.test")])]
        configurations[0].sessionLimits = limits
    }

    /// An extension that uses these caches.
    func makeExtension() -> KerberosExtension {
        KerberosExtension(
            .init(
                configurations: configurations,
                base: .files(configurationFiles),
                defaultCacheName: cacheName,
                secretStore: secrets,
                clock: { [clock] in clock.now.wall }
            )
        )
    }

    /// A Kerberos client that uses these caches without an extension.
    func makeClient() -> KerberosClient { KerberosClient(realm.configuration(defaultCacheName: cacheName)) }

    /// Runs a krb5 program that uses these caches.
    @discardableResult
    func run(_ program: String, _ arguments: [String], input: String? = nil) async throws -> String {
        let environment = ["KRB5CCNAME": cacheName, "KRB5_CONFIG": configurationFiles.joined(separator: ":")]
        return try await realm.succeeded(program, arguments, environment: environment, input: input).output
    }

    /// Runs the body while a keeper is running.
    func withKeeper<Value>(
        network: AsyncStream<Void>? = nil,
        jitter: Double = 1,
        _ body: (SessionKeeper, inout EventReader) async throws -> Value
    ) async throws -> Value {
        var reader = EventReader(hub.events())
        let schedule = SessionSchedule(configurations, backoff: Backoff(jitter: { jitter }))
        let (log, notes) = (log, notes)
        let keeper = SessionKeeper(
            CurrentExtension(makeExtension()),
            SessionReports(events: hub, journal: Journal { $0.contains(" was signed out") ? notes.append($0) : log.append($0) }),
            clock: clock,
            schedule: schedule
        )
        let running = Task { await keeper.run() }
        let forwarding = Task {
            guard let network else { return }
            for await _ in network { keeper.networkChanged() }
        }
        defer { forwarding.cancel() }
        do {
            await settle(keeper)
            let value = try await body(keeper, &reader)
            running.cancel()
            await running.value
            return value
        } catch {
            running.cancel()
            await running.value
            throw error
        }
    }

    /// Moves the clock to `age` seconds after the start of the only session's ticket, however long the sign-in took.
    func advance(toAge age: Double) async throws {
        for session in try await makeExtension().sessions().sessions {
            clock.advance(by: SessionSnapshot(session).ticket.starts.timeIntervalSince(clock.now.wall) + age)
        }
    }

    /// Waits until the keeper has done everything that is due at this moment and sleeps again.
    func settle(_ keeper: SessionKeeper) async {
        // The first turn may have begun before this call; the second has not.
        for _ in 0..<2 {
            let count = clock.sleepCount
            keeper.inbox.put { $0.isPoked = true }  // poke() would wait for the look that is due anyway
            for await number in clock.sleeps where number > count { break }
        }
    }
}

/// Reads events one by one and keeps all of them, including those that were skipped.
struct EventReader {
    private var iterator: AsyncStream<AgentEvent>.Iterator
    private(set) var seen: [AgentEvent] = []

    init(_ events: AsyncStream<AgentEvent>) { iterator = events.makeAsyncIterator() }

    /// Waits for an event of a kind.
    @discardableResult
    mutating func next(_ kind: AgentEvent.Kind, of principal: String? = nil) async throws -> AgentEvent {
        while let event = await iterator.next() {
            seen.append(event)
            if event.kind == kind, principal == nil || event.principal == principal { return event }
        }
        throw CancellationError()
    }

    /// The number of events of a kind that have been read.
    func count(_ kind: AgentEvent.Kind) -> Int { seen.count { $0.kind == kind } }
}
