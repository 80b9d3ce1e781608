import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The password prompt in tmux. The test runs a tmux server of its own.
@Suite(.testRealm(users: ["alice": "top-secret"]), .timeLimit(.minutes(5)))
struct TmuxTests {
    private static let isInstalled = (try? Program.path(of: "tmux")) != nil

    @Test(.enabled(if: isInstalled, "tmux is not installed: apt-get install tmux"))
    func `the password prompt works in tmux`() async throws {
        let station = try Workstation()
        try await tmux(station, "new-session", "-d", "-c", station.directory, "-x", "200", "-y", "50", "sh")
        do {
            try await signIn(station)
        } catch {
            try await tmux(station, "kill-server")
            throw error
        }
        try await tmux(station, "kill-server")
    }

    private func signIn(_ station: Workstation) async throws {
        try await type(station, "stty -g >before; ksso login alice; echo status=$?; stty -g >after; cmp before after; echo settings=$?\n")
        try await waitForScreen(station, "Password for alice@EXAMPLE.TEST:")
        try await type(station, "top-secret\n")
        try await waitForScreen(station, "\nsettings=0\n")
        let screen = try await tmux(station, "capture-pane", "-p").output
        #expect(screen.contains("\nstatus=0\n"))
        #expect(screen.contains("alice@EXAMPLE.TEST is signed in until "))
        #expect(!screen.contains("top-secret"))
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    private func waitForScreen(_ station: Workstation, _ text: String) async throws {
        try await eventually { try await tmux(station, "capture-pane", "-p").output.contains(text) }
    }

    private func type(_ station: Workstation, _ keys: String) async throws {
        for line in keys.split(separator: "\n") {
            try await tmux(station, "send-keys", "-l", String(line))
            try await tmux(station, "send-keys", "Enter")
        }
    }

    @discardableResult
    private func tmux(_ station: Workstation, _ arguments: String...) async throws -> CommandResult {
        let environment = ["TMUX": "", "TMUX_TMPDIR": station.directory, "TERM": "screen", "ENV": ""]
        let result = try await station.run(
            ["tmux", "-L", "test", "-f", "/dev/null"] + arguments,
            environment: environment
        )
        #expect(result.exitStatus == 0, "\(result.errors)")
        return result
    }
}
