import Foundation
import Kerberos
import KerberosTesting
import SSOAgentClient
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

/// How the agent watches the user's login sessions, with a real systemd-logind on a real bus.
@Suite(.timeLimit(.minutes(2)))
struct LoginWatchTests {
    private static let desk = LoginService.Session("1")
    private static let shell = LoginService.Session("2", type: "tty")
    private static let others = LoginService.Session("3", user: 65534, name: "nobody")

    /// The changes and the log lines that a watch has reported so far.
    private final class Record: Sendable {
        private let state = Mutex<(changes: [LoginChange], lines: [String])>(([], []))
        var changes: [LoginChange] { state.withLock { $0.changes } }
        var lines: [String] { state.withLock { $0.lines } }
        func note(_ change: LoginChange) { state.withLock { $0.changes.append(change) } }
        func log(_ line: String) { state.withLock { $0.lines.append(line) } }
    }

    private func withWatch(
        isWanted: @escaping @Sendable () -> Bool = { true },
        steadyTime: Duration = .zero,
        _ body: (String, LoginWatch, Record) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let record = Record()
            var options = LoginWatch.Options(
                environment: LoginService.environment(folder: folder),
                user: 0,
                isWanted: isWanted,
                log: { record.log($0) }
            )
            options.interval = .milliseconds(100)
            options.longestWait = .milliseconds(100)
            options.steadyTime = steadyTime
            let watch = LoginWatch(options)
            let running = Task { await watch.run { record.note($0) } }
            do { try await body(folder, watch, record) } catch {
                running.cancel()
                await running.value
                throw error
            }
            running.cancel()
            await running.value
        }
    }

    /// Waits for a condition for as long as a slow machine may need.
    private func holdsInTime(_ condition: () -> Bool) async throws -> Bool {
        try await comesTrue(within: .seconds(300), condition)
    }

    @Test(.enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)))
    func `a lock is reported for logind's locked hint and for its Lock signal`() async throws {
        try await withWatch { folder, watch, record async throws in
            try await LoginService.run(in: folder, sessions: [Self.desk, Self.shell, Self.others]) { service async throws in
                try await service.setLocked(Self.desk)
                #expect(try await holdsInTime { record.changes == [.locked] && watch.isScreenLocked })
                try await service.pretendLock(Self.desk)
                try await service.setLocked(Self.desk, false)
                #expect(try await holdsInTime { !watch.isScreenLocked })
                #expect(record.changes == [.locked], "signals of other senders are ignored")
                try await service.setLocked(Self.others)
                try await service.lock(Self.others)
                try await service.setLocked(Self.shell)
                #expect(try await holdsInTime { record.changes.count == 2 })
                #expect(!watch.isScreenLocked)
                try await service.lock(Self.desk)
                #expect(try await holdsInTime { record.changes.count == 3 })
                #expect(record.changes == [.locked, .locked, .locked] && record.lines.count <= 1)
            }
        }
    }

    @Test(.enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)))
    func `the end of the user's last login session is reported`() async throws {
        try await withWatch { folder, _, record async throws in
            try await LoginService.run(in: folder, sessions: [Self.desk, Self.shell, Self.others]) { service async throws in
                try await service.setLocked(Self.desk)
                #expect(try await holdsInTime { record.changes == [.locked] }, "the sessions have been seen")
                service.leave(Self.desk)
                try await service.lock(Self.shell)
                #expect(try await holdsInTime { record.changes == [.locked, .locked] })
                service.leave(Self.shell)
                #expect(try await holdsInTime { record.changes == [.locked, .locked, .sessionEnded] })
            }
        }
    }

    /// The watch remembers the sessions from before, so it reports one that has ended in the meantime.
    @Test(.enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)))
    func `a bus that becomes available again is used again`() async throws {
        try await withWatch { folder, watch, record async throws in
            #expect(try await holdsInTime { record.lines.count == 1 })
            #expect(record.lines.first?.contains("SignOutOnLock") == true)
            try await LoginService.run(in: folder, sessions: [], logind: false) { _ in }
            try await LoginService.run(in: folder, sessions: [Self.desk]) { service async throws in
                try await service.setLocked(Self.desk)
                #expect(try await holdsInTime { watch.isScreenLocked })
            }
            #expect(try await holdsInTime { record.lines.count == 2 })
            #expect(watch.isScreenLocked, "logind has not reported an unlock")
            try await LoginService.run(in: folder, sessions: [Self.others]) { _ async throws in
                #expect(try await holdsInTime { record.changes == [.locked, .sessionEnded] })
                #expect(try await holdsInTime { !watch.isScreenLocked })
            }
        }
    }

    @Test(.enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)))
    func `an unstable bus is reported once and does not count as an unlock`() async throws {
        try await withWatch(steadyTime: .seconds(86_400)) { folder, watch, record async throws in
            #expect(try await holdsInTime { record.lines.count == 1 })
            try await LoginService.run(in: folder, sessions: [Self.desk]) { service async throws in
                try await service.setLocked(Self.desk)
                #expect(try await holdsInTime { watch.isScreenLocked })
            }
            try await LoginService.run(in: folder, sessions: [], logind: false) { _ in }
            #expect(watch.isScreenLocked)
            try await LoginService.run(in: folder, sessions: [Self.desk]) { _ async throws in
                #expect(try await holdsInTime { !watch.isScreenLocked })
            }
            #expect(record.lines.count == 1 && record.changes == [.locked])
        }
    }

    @Test(.enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)))
    func `signals that cannot be read do not end the watch's connection`() async throws {
        try await withWatch { folder, watch, record async throws in
            try await LoginService.run(in: folder, sessions: [Self.desk]) { service async throws in
                try await service.setLocked(Self.desk)
                #expect(try await holdsInTime { watch.isScreenLocked })
                let client = try await ForeignBusClient(path: "\(folder)/bus")
                let lines = record.lines.count
                for signal in [DBusMessageTests.huge, { DBusMessageTests.nested(to: $0) }] {
                    let others = try await client.others()
                    for other in others { try await client.send(signal(other)) }
                    #expect(try await client.others().isSuperset(of: others))
                    // The signal that logind sends now follows them.
                    try await service.setLocked(Self.desk, false)
                    #expect(try await holdsInTime { !watch.isScreenLocked })
                    #expect(try await client.others().isSuperset(of: others), "no connection has left the bus")
                    try await service.setLocked(Self.desk)
                    #expect(try await holdsInTime { watch.isScreenLocked })
                }
                #expect(record.lines.count == lines)
                try await client.close()
            }
        }
    }

    @Test func `the bus is not contacted while no profile needs the watch`() async throws {
        let asked = Atomic(0)
        try await withWatch {
            asked.add(1, ordering: .relaxed)
            return false
        } _: { _, watch, record async throws in
            #expect(try await holdsInTime { asked.load(ordering: .relaxed) > 2 })
            #expect(record.lines == [] && !watch.isScreenLocked)
        }
    }

    /// A server that is not a bus ends only the connection, not the watch.
    @Test(arguments: ["", "REJECTED EXTERNAL\r\n", "OK 12\r\n" + String(repeating: "x", count: 64), String(repeating: "y", count: 5000)])
    func `a server that is not a bus is reported once and changes nothing`(answer: String) async throws {
        try await withWatch { folder, watch, record async throws in
            let path = "\(folder)/bus"
            try await withServer(at: path, answering: answer) { () async throws in
                #expect(try await holdsInTime { record.lines.count == 1 })
            }
            #expect(record.changes == [] && !watch.isScreenLocked)
        }
    }

    /// Runs the body with a server that answers each client with the bytes and closes the connection.
    private func withServer(at path: String, answering answer: String, _ body: () async throws -> Void) async throws {
        let socket = try ListeningSocketOfBytes(path: path, answer: Array(answer.utf8))
        try await socket.start()
        do { try await body() } catch {
            await socket.stop()
            throw error
        }
        await socket.stop()
    }
}
