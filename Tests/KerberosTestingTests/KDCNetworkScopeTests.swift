import Foundation
import KerberosTesting
import Synchronization
import Testing

/// How a network lives and ends with its realm.
@Suite struct KDCNetworkScopeTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], faultProxy: true)

    @Test func `a realm without one says so`() async throws {
        try await withTestRealm { realm in
            let error = #expect(throws: KerberosTestingError.self) { _ = try realm.network }
            #expect(error?.code == .invalidArgument && error?.message.contains("faultProxy") == true)
        }
    }

    @Test func `a closed port cannot count`() async throws {
        try await withTestRealm(Self.options) { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.network.set(.refuse, for: .next(2)) }
            #expect(error?.code == .invalidArgument)
            let failure = try await SignInProgram.kinit.signIn(realm)
            #expect(failure == nil)
        }
    }

    @Test func `a KDC starts again behind it`() async throws {
        try await withTestRealm(Self.options) { realm in
            let network = try realm.network
            try await realm.stopKDC()
            try await network.allowOnly(.tcp)  // where a dead KDC is told at once
            #expect(try await !SignInProgram.kinit.signsIn(realm))
            // A fault is the clients' affair: the start is told from the KDC itself.
            try await network.set(.drop)
            try await realm.startKDC()
            try await network.set(.pass)
            #expect(try await SignInProgram.kinit.signsIn(realm))
        }
    }

    @Test func `clients of other realms come by it too`() async throws {
        let first = TestRealmOptions(name: "A.TEST", users: ["alice": "secret"], faultProxy: true)
        let second = TestRealmOptions(name: "B.TEST", services: ["HTTP/web.b.test"], faultProxy: true)
        try await withTrustedRealms(first, second) { realm, other in
            #expect(try await realm.run("kinit", ["alice"], input: "secret\n").exitStatus == 0)
            try await other.network.set(.error(.policy))
            let refused = try await realm.run("kvno", ["HTTP/web.b.test@B.TEST"])
            #expect(refused.errors.contains("KDC policy rejects request"))
            try await other.network.set(.pass)
            #expect(try await realm.run("kvno", ["HTTP/web.b.test@B.TEST"]).exitStatus == 0)
            #expect(try other.network.exchanges.contains { $0.request == .serviceRequest && $0.reply == .serviceReply })
        }
    }

    @Test func `waiting ends with the realm and with the task`() async throws {
        var options = Self.options
        options.address = "127.0.77.1"  // nobody else's, so that the kernel gives its ports to nobody else
        let network = try await withTestRealm(options) { realm in
            let network = try realm.network
            let waiting = Task { try await network.exchanges(count: 1) }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            return network
        }
        let late = await #expect(throws: KerberosTestingError.self) { try await network.exchanges(count: 1) }
        #expect(late?.code == .scopeEnded)
        let closed = await #expect(throws: KerberosTestingError.self) { try await network.set(.pass) }
        #expect(closed?.code == .scopeEnded)
        // Nothing listens at the number any more; a child that this process begins to start just now may have a copy of the socket, until
        // it runs.
        try await eventually { Listener.canListen(at: network.port, of: network.address) }
    }

    /// A cancellation handler takes the network's lock inside one that the runtime wants for resuming the task.
    @Test(arguments: ["request", "cancellation", "end"])
    func `who waits is told while the network is free`(reason: String) async throws {
        let (executor, waiting) = try await withTestRealm(Self.options) { realm in
            let network = try realm.network
            try await network.set(.blackHole)
            let executor = WatchedExecutor { _ = network.exchanges }
            let waiting = Task(executorPreference: executor) { try await network.exchanges(count: 1).count }
            try await eventually { executor.stops == 1 }
            switch reason {
            case "request": try ClientSocket(port: network.port, .udp).send([0x6A, 0x00])
            case "cancellation": waiting.cancel()
            default: return (executor, waiting)
            }
            try await eventually { executor.wasFree.count == 2 }
            return (executor, waiting)
        }
        let result = await waiting.result
        switch reason {
        case "request": #expect(try result.get() == 1)
        case "cancellation": #expect(throws: CancellationError.self) { try result.get() }
        default: #expect(throws: KerberosTestingError.self) { try result.get() }
        }
        #expect(executor.wasFree == [true, true])
    }

    @Test func `many networks have one port each`() async throws {
        let open = OpenPorts()
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    try await withTestRealm(Self.options) { realm in
                        let failure = try await SignInProgram.library.signIn(realm)
                        #expect(failure == nil)
                        open.add(try realm.network.port)
                        // Until then none ends, whose port another one could get.
                        try await eventually { open.numbers.count == 8 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(open.numbers).count == 8)
    }
}

/// The ports of networks that are open.
private final class OpenPorts: Sendable {
    private let ports = Mutex<[Int]>([])

    var numbers: [Int] { ports.withLock { $0 } }

    func add(_ port: Int) { ports.withLock { $0.append(port) } }
}
