import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import Synchronization

@testable import SSOAgent

/// One user's caches in a realm, with a keeper that looks after them by a clock that is moved by hand.
struct KeptHome {
    let realm: TestRealm
    let directory: String
    var cacheName: String
    /// The krb5.conf files of all who look at these caches.
    var configurationFiles: [String]
    var clock = ManualWakeClock()
    let hub = EventHub()
    let log = KeeperLog()
    let notes = KeeperLog()
    var configurations: [ExtensionConfiguration]
    let secrets = KeptSecretStore()

    init(_ realm: TestRealm, cache: String = "FILE", limits: SessionLimits = .init()) throws {
        self.realm = realm
        directory = "\(realm.directory)/home-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        configurationFiles = [realm.configurationPath]
        cacheName = "\(cache):\(directory)/\(cache == "DIR" ? "collection" : "cache")"
        configurations = [.init(realm: realm.name, hosts: [try HostRule(".example.test")])]
        configurations[0].sessionLimits = limits
    }

    /// An extension in these surroundings.
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

    /// A client of the caches alone.
    func makeClient() -> KerberosClient { KerberosClient(realm.configuration(defaultCacheName: cacheName)) }

    /// Runs a krb5 program that sees these caches.
    @discardableResult
    func run(_ program: String, _ arguments: [String], input: String? = nil) async throws -> String {
        let environment = ["KRB5CCNAME": cacheName, "KRB5_CONFIG": configurationFiles.joined(separator: ":")]
        let result = try await realm.run(program, arguments, environment: environment, input: input)
        guard result.exitStatus == 0 else { throw ProgramFailure(program: program, errors: result.errors) }
        return result.output
    }

    /// Runs the body while a keeper works.
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
            events: hub,
            clock: clock,
            network: network,
            schedule: schedule,
            log: { log.add($0) },
            note: { notes.add($0) }
        )
        let running = Task { await keeper.run() }
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

    /// Moves the clock to so many seconds after the one session's ticket began, however long the sign-in took.
    func advance(toAge age: Double) async throws {
        for session in try await makeExtension().sessions().sessions {
            clock.advance(by: SessionSnapshot(session).ticket.starts.timeIntervalSince(clock.now.wall) + age)
        }
    }

    /// Waits until the keeper has seen to all that was to be done at this moment and sleeps again.
    func settle(_ keeper: SessionKeeper) async {
        // The first turn may have begun before; the second has not.
        for _ in 0..<2 {
            let count = clock.sleepCount
            keeper.inbox.put { $0.isPoked = true }  // a poke would wait for the look that is due anyway
            for await number in clock.sleeps where number > count { break }
        }
    }
}

/// The lines that a keeper wrote.
final class KeeperLog: Sendable {
    private let state = Mutex<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func add(_ line: String) { state.withLock { $0.append(line) } }
}

/// A program that failed.
struct ProgramFailure: Error {
    let program: String
    let errors: String
}

/// Reads events one by one, and keeps what was passed over.
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

    /// How many events of a kind have been read.
    func count(_ kind: AgentEvent.Kind) -> Int { seen.count { $0.kind == kind } }
}
