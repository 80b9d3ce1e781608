import Foundation
import KerberosTesting
import TestSupport
import Testing

/// The clock of one program, which a test moves with libfaketime while the program runs.
///
/// The program is started by `timeout`, because libfaketime changes the environment of the first program that loads it, and Swift then does
/// not find the arguments.
struct MovableClock {
    private let station: Workstation
    private let variables: [String]

    static let isAvailable = LoadableLibrary.clock != nil
    static let obstacle: Comment = "libfaketime is missing: Scripts/install-packages unpacks it"
    static let sanitizerObstacle: Comment = "libfaketime deadlocks in a program that was built with a sanitizer"

    /// - Parameters:
    ///   - offset: The offset from the machine's clock in libfaketime's syntax, such as `+2d`.
    ///   - movesMonotonic: Whether the monotonic clock, and with it the program's timers, follows.
    init(_ station: Workstation, offset: String = "+0s", movesMonotonic: Bool = false) throws {
        self.station = station
        ClockLibrary.removeLeftovers()
        var variables = [
            "LD_PRELOAD=\(try #require(LoadableLibrary.clock).path)", "FAKETIME_TIMESTAMP_FILE=\(station.directory)/clock",
            "FAKETIME_NO_CACHE=1",
        ]
        if !movesMonotonic { variables.append("FAKETIME_DONT_FAKE_MONOTONIC=1") }
        self.variables = variables
        try move(to: offset)
    }

    /// Moves the program's clock.
    func move(to offset: String) throws { try station.write("\(offset)\n", to: "clock") }

    /// Runs an agent with this clock during the closure. Returns what the agent wrote.
    @discardableResult
    func withAgent(_ options: [String] = [], _ body: () async throws -> Void) async throws -> String {
        try await withDaemon(["env"] + variables + ["timeout", "600", "ksso", "agent", "run"] + options, on: station) { _ in
            try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
        } _: {
            try await body()
        }.output
    }
}
