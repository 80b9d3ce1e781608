import Foundation
import KerberosTesting
import Synchronization
import TestSupport
import Testing

/// The lifetime of a network, which ends with its realm.
@Suite struct KDCNetworkScopeTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], faultProxy: true)

    @Test func `a realm without a fault proxy has no network`() async throws {
        try await withTestRealm { realm in
            let error = #expect(throws: KerberosTestingError.self) { _ = try realm.network }
            #expect(error?.code == .invalidArgument && error?.message.contains("faultProxy") == true)
        }
    }

    @Test func `a refusal cannot be limited to a number of requests`() async throws {
        try await withTestRealm(Self.options) { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.network.set(.refuse, for: .next(2)) }
            #expect(error?.code == .invalidArgument)
            let failure = try await SignInProgram.kinit.signIn(realm)
            #expect(failure == nil)
        }
    }

    @Test func `a KDC can be stopped and started behind the network`() async throws {
        try await withTestRealm(Self.options) { realm in
            let network = try realm.network
            try await realm.stopKDC()
            try await network.allowOnly(.tcp)  // over which a stopped KDC is detected at once
            #expect(try await !SignInProgram.kinit.signsIn(realm))
            // Faults affect only clients: the KDC itself confirms the start.
            try await network.set(.drop)
            try await realm.startKDC()
            try await network.set(.pass)
            #expect(try await SignInProgram.kinit.signsIn(realm))
        }
    }

    @Test func `clients of other realms go through the network too`() async throws {
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

    @Test func `waiting for a request ends with the task or the realm`() async throws {
        var options = Self.options
        options.address = "127.0.77.1"  // used by no other test, so the kernel gives its ports to no other socket
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
        // No socket listens on the port any more. A child process that is being started may have a copy of the socket until it runs its
        // program.
        try await eventually { Listener.canListen(at: network.port, of: network.address) }
    }

    /// A cancellation handler takes the network's lock while it holds a lock that the runtime needs to resume the task.
    @Test(arguments: ["request", "cancellation", "end"])
    func `a waiting task is resumed while the network's lock is free`(reason: String) async throws {
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

    @Test func `concurrent networks have different ports`() async throws {
        let open = OpenPorts()
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    try await withTestRealm(Self.options) { realm in
                        let failure = try await SignInProgram.library.signIn(realm)
                        #expect(failure == nil)
                        open.add(try realm.network.port)
                        // No network ends before, because another one could get its port.
                        try await eventually { open.numbers.count == 8 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(open.numbers).count == 8)
    }
}

/// The ports of the open networks.
private final class OpenPorts: Sendable {
    private let ports = Mutex<[Int]>([])

    var numbers: [Int] { ports.withLock { $0 } }

    func add(_ port: Int) { ports.withLock { $0.append(port) } }
}
