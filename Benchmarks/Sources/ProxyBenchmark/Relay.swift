import BenchmarkSupport
import CFloor
import Foundation

/// A running program of a comparison.
struct Relay: Sendable {
    let name: String
    let port: Int
    /// Nil for the server itself.
    fileprivate let process: Int32?
    /// What a CONNECT names; nil if a tunnel needs none.
    fileprivate let authority: String?

    /// The server at the other end of the tunnels, without a relay.
    static func target(_ bench: Bench) -> Relay { Relay(name: "no relay", port: bench.targetPort, process: nil, authority: nil) }

    /// The seconds of processor time of the program, or nil if it is this process.
    func seconds() throws -> Double? { try process.map { try ProcessTree(root: $0).seconds } }

    func tree() throws -> ProcessTree {
        guard let process else { throw Unavailable(reason: "it has no process of its own") }
        return try ProcessTree(root: process)
    }

    /// Opens tunnels and closes them; returns the seconds, and the microseconds of each.
    func openAndClose(_ count: Int, atOnce: Int) throws -> (seconds: Double, latencies: [Double]) {
        var latencies = [Double](repeating: 0, count: count)
        let seconds = cfloor_open_tunnels(Int32(port), authority, UInt32(atOnce), UInt32(count), &latencies, nil)
        guard seconds > 0 else { throw Unavailable(reason: String(cString: cfloor_failure())) }
        return (seconds, latencies)
    }

    /// Opens tunnels. The caller closes them.
    func open(_ count: Int, atOnce: Int) throws -> [Int32] {
        var sockets = [Int32](repeating: -1, count: count)
        let seconds = cfloor_open_tunnels(Int32(port), authority, UInt32(atOnce), UInt32(count), nil, &sockets)
        guard seconds > 0 else {
            sockets.removeAll { $0 < 0 }
            cfloor_close_tunnels(sockets, UInt32(sockets.count))
            throw Unavailable(reason: "\(sockets.count) of \(count) more tunnels, then \(String(cString: cfloor_failure()))")
        }
        return sockets
    }
}

/// The programs of a comparison: the running ones, and why the others are not measured.
struct Relays: Sendable {
    private var running: [Relay] = []
    private var failures: [String: Unavailable] = [:]

    /// Returns a program.
    ///
    /// - Throws: ``Unavailable`` if it does not run.
    func relay(_ name: String) throws -> Relay {
        if let relay = running.first(where: { $0.name == name }) { return relay }
        throw failures[name] ?? Unavailable(reason: "not started")
    }

    /// Runs programs while a closure runs.
    nonisolated(nonsending) static func with<R>(
        _ programs: [RelayProgram],
        _ bench: Bench,
        _ body: nonisolated(nonsending) (Relays) async throws -> R
    ) async throws -> R {
        try await with(programs[...], bench, Relays(), body)
    }

    nonisolated(nonsending) private static func with<R>(
        _ programs: ArraySlice<RelayProgram>,
        _ bench: Bench,
        _ started: Relays,
        _ body: nonisolated(nonsending) (Relays) async throws -> R
    ) async throws -> R {
        guard let program = programs.first else { return try await body(started) }
        let rest = programs.dropFirst()
        let port = try Bench.freePort()
        let command: [String]
        do {
            command = try program.command(port)
        } catch {
            var set = started
            set.failures[program.name] = Unavailable(reason: "\(error)")
            return try await with(rest, bench, set, body)
        }
        let log = "\(bench.realm.directory)/\(port).log"
        return try await BackgroundProcess.with(command, environment: bench.environment, logPath: log) { process in
            var set = started
            if let failure = try await Bench.failure(of: process, toListenAt: port) {
                set.failures[program.name] = failure
            } else {
                let authority = program.needsConnect ? "127.0.0.1:\(bench.targetPort)" : nil
                set.running.append(Relay(name: program.name, port: port, process: process.identifier, authority: authority))
            }
            return try await with(rest, bench, set, body)
        }
    }
}
