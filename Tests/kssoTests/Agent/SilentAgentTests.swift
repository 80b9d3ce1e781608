import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// An agent that accepts connections and does not answer: every command reports it instead of waiting forever.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct SilentAgentTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// Runs a command with timeout(1), which exits with status 124 if the command hangs.
    private func ksso(_ words: [String]) async throws -> CommandResult { try await station.run(["timeout", "90", "ksso"] + words) }

    private func isStopped(_ process: Int32) -> String {
        "the agent (process \(process)) does not respond: it is suspended. Resume it with: kill -CONT \(process); or stop it "
            + "with: ksso agent stop"
    }

    private func withStoppedAgent(_ body: (Int32) async throws -> Void) async throws -> (status: Int, transcript: String) {
        try await station.withAgent { agent in
            try await station.signIn()
            try await suspend(agent.process)
            defer { kill(agent.process, SIGCONT) }
            try await body(agent.process)
        }
    }

    @Test func `every command reports a suspended agent and how to resume it`() async throws {
        let end = try await withStoppedAgent { process in
            let commands = [
                ["status"], ["status", "--watch"], ["env"], ["exec", "--", "true"], ["login", "alice", "--quiet"], ["logout"], ["refresh"],
                ["explain", "http://localhost/"], ["fetch", "http://localhost/"], ["agent", "status"],
            ]
            try await withThrowingTaskGroup(of: ([String], CommandResult).self) { group in
                for command in commands { group.addTask { (command, try await ksso(command)) } }
                for try await (command, result) in group { #expect(result == .failure(1, isStopped(process)), "\(command)") }
            }
            for words in [["--background"], []] {
                let expected = "an agent is already running in \(station.runtime): \(isStopped(process))"
                #expect(try await ksso(["agent", "run"] + words) == .failure(1, expected))
            }
        }
        #expect(end.status == 0, "the agent continues once it is resumed: \(end)")
    }

    /// A write that waits for the agent takes effect when the agent continues, and a later call does not overtake it.
    @Test func `while a write to the caches of a suspended agent is unfinished, other calls fail`() async throws {
        var configuration = station.realm.configuration(defaultCacheName: "KCM:")
        configuration.libdefaults["kcm_socket"] = "\(station.runtime)/kcm.sock"
        let client = KerberosClient(configuration)
        let end = try await station.withAgent { agent in
            try await station.signIn()
            let cache = try #require(try await client.cacheNames().first)
            try await suspend(agent.process)
            defer { kill(agent.process, SIGCONT) }
            let late = await #expect(throws: KerberosError.self) { try await client.setMark("late", to: "1", in: cache) }
            #expect(late?.code == .cacheUnusable)
            let refused = await #expect(throws: KerberosError.self) { try await client.destroy(cache) }
            #expect(refused?.message == late?.message)
            kill(agent.process, SIGCONT)
            try await eventually { (try? await client.contents(of: cache).marks["late"]) == "1" }
            try await client.destroy(cache)
            await #expect(throws: KerberosError.self) { try await client.contents(of: cache) }
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `ksso agent stop terminates a suspended agent`() async throws {
        let end = try await withStoppedAgent { process in
            let result = try await ksso(["agent", "stop"])
            let sentence = "The agent (process \(process)) did not answer. It was terminated by a signal.\n"
            #expect(result.exitStatus == 0 && result.output == sentence, "\(result)")
            #expect(result.errors.contains("has tickets in \(station.runtime)/tickets"), "\(result)")
        }
        #expect(end.status == 0, "the agent exits as after any other stop: \(end)")
    }

    /// This process has the sockets, as systemd does with socket activation. The commands must not terminate it.
    @Test func `another process that listens on the agent's sockets is reported, not terminated`() async throws {
        try RuntimeFolder.make(station)
        let listeners = try ["agent.sock", "kcm.sock"].map { try UnixSocket.occupy("\(station.runtime)/\($0)") }
        defer { for descriptor in listeners { close(descriptor) } }
        async let status = ksso(["status"])
        async let stop = ksso(["agent", "stop"])
        for result in try await [status, stop] {
            #expect(result.exitStatus == 1 && result.output.isEmpty, "\(result)")
            #expect(result.errors.contains("(process \(getpid())) listens in its place. Restart that program."), "\(result)")
        }
    }
}
