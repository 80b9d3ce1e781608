import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Commands detect a running agent even if one of its sockets is lost.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(5)))
struct LostSocketTests {
    let station: Workstation
    private var caches: String { "\(station.runtime)/kcm.sock" }
    private var requests: String { "\(station.runtime)/agent.sock" }
    private let restart = "ksso agent stop; ksso agent run --background"

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    @Test func `a command waits until the agent has rebound a removed cache socket`() async throws {
        try await station.withAgent { _ async throws in
            try await station.signIn()
            #expect(unlink(caches) == 0)
            #expect(try await station.ksso("logout", "--all") == .done("alice@EXAMPLE.TEST is signed out.\n"))
            try await station.signIn()
            for path in [caches, requests] { #expect(unlink(path) == 0) }
            #expect(try await station.ksso("logout", "--all") == .done("alice@EXAMPLE.TEST is signed out.\n"))
        }
    }

    @Test func `commands fail with advice if the agent cannot rebind its cache socket`() async throws {
        try await station.withAgent { agent async throws in
            try await station.signIn()
            try UnixSocket.obstruct(caches)
            let fault = "\(caches): the file there is not a socket."
            let remedy = "Remove that file, then restart the agent: \(restart)"
            let sentence = "the agent (process \(agent.process)) keeps the tickets, but programs cannot reach them at \(fault) \(remedy)"
            for words in [["logout", "--all"], ["status"], ["refresh"], ["login", "alice", "--quiet"]] {
                #expect(try await station.run(["ksso"] + words) == .failure(1, sentence), "\(words)")
            }
            let status = try await station.ksso("agent", "status")
            #expect(
                status.output.hasPrefix("The agent is running, but programs cannot reach its tickets, in \(station.runtime): "),
                "\(status)"
            )
            #expect(status.output.contains("\n    \(fault) \(remedy)\n"), "\(status)")
            let doctor = try await station.ksso("doctor")
            #expect(doctor.exitStatus == 1, "\(doctor)")
            #expect(
                doctor.output.contains("✗ cache: the agent keeps the tickets, but programs cannot reach them at \(fault)\n"),
                "\(doctor)"
            )
            #expect(doctor.output.contains("\n- session: "), "the session check is skipped: \(doctor)")
        }
    }

    @Test func `with --system, commands do not wait for the agent's cache socket`() async throws {
        try await station.signIn()
        try await station.withAgent(["--system"]) { _ async throws in
            #expect(try await station.ksso("status").output.contains("alice@EXAMPLE.TEST"))
            #expect(try await station.ksso("logout", "--all") == .done("alice@EXAMPLE.TEST is signed out.\n"))
        }
    }

    @Test func `commands find an agent without its API socket by its lock, and its log is kept`() async throws {
        try await station.withBackgroundAgent { _ async throws in
            let process = try await station.agentStatus().process.processID
            let log = "\(station.runtime)/agent.log"
            try "what the agent has written\n".write(toFile: log, atomically: false, encoding: .utf8)
            try UnixSocket.obstruct(requests)
            let fault = "\(requests): the file there is not a socket"
            let place = "an agent (process \(process)) is running in \(station.runtime), but cannot be reached at \(fault)."
            let sentence = "\(place) Remove that file, then restart the agent: \(restart)"
            for words in [["run", "--background"], ["status"], ["status", "--json"]] {
                #expect(try await station.run(["ksso", "agent"] + words) == .failure(1, sentence), "\(words)")
            }
            #expect(try String(contentsOfFile: log, encoding: .utf8).hasPrefix("what the agent has written\n"))
            #expect(try await station.ksso("status").exitStatus == 5, "the agent's caches are still found")
            #expect(FileManager.default.fileExists(atPath: "\(station.runtime)/krb5.conf"), "the file belongs to the running agent")
            let stop = try await station.ksso("agent", "stop")
            #expect(stop.exitStatus == 0 && stop.output.contains("(process \(process)) could not be reached at \(fault)."), "\(stop)")
            // Its parent process collects its status.
            try await eventually { kill(process, 0) != 0 }
        }
    }

    @Test func `a second start detects an agent whose API socket was removed, and keeps its log`() async throws {
        try await station.withBackgroundAgent { _ async throws in
            let log = "\(station.runtime)/agent.log"
            try "what the agent has written\n".write(toFile: log, atomically: false, encoding: .utf8)
            #expect(unlink(requests) == 0)
            let sentence = "an agent is already running in \(station.runtime). See: ksso agent status"
            #expect(try await station.ksso("agent", "run", "--background") == .failure(1, sentence))
            #expect(try String(contentsOfFile: log, encoding: .utf8).hasPrefix("what the agent has written\n"))
            #expect(try await station.ksso("agent", "stop").exitStatus == 0)
        }
        try await station.withBackgroundAgent { _ async throws in
            let text = try String(contentsOfFile: "\(station.runtime)/agent.log", encoding: .utf8)
            #expect(!text.contains("what the agent has written"), "the log of an agent that has exited is truncated: \(text)")
        }
    }
}
