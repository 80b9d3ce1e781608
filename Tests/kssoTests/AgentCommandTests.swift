import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso agent run`, `status` and `stop`: one agent a runtime folder, however the last one ended.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct AgentCommandTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var isRunning: String { "an agent is already running in \(station.runtime). See: ksso agent status" }
    private var isNotRunning: String { "no agent is running in \(station.runtime). Start one with: ksso agent run --background" }

    @Test func `in the background`() async throws {
        try await station.withBackgroundAgent { result in
            #expect(result == .done("The agent serves in \(station.runtime). Stop it with: ksso agent stop\n"))
            let document = try await station.agentStatus()
            #expect(document.agent && document.cacheMode == "agent")
            #expect(document.process.caches == 0 && document.process.tickets == 0)
            try await station.signIn()
            let process = document.process.processID
            let status = try await station.ksso("agent", "status")
            let first = "The agent serves in \(station.runtime): process \(process), since TIME.\n"
            #expect(status.withoutTimes.output.hasPrefix(first + "    1 tickets in 1 credential cache\n"), "\(status)")
            let stop = try await station.ksso("agent", "stop")
            let kept = "The tickets of alice@EXAMPLE.TEST are kept for the next start. To destroy them: "
            #expect(stop.exitStatus == 0 && stop.output == "The agent has stopped.\n" && stop.errors.hasPrefix(kept), "\(stop)")
            #expect(kill(process, 0) != 0)
            // Nobody is told that all is over while tickets wait on disk.
            let sentence = "the agent is not running, and has tickets in \(station.runtime)/tickets. To use or destroy them, first run: "
            for (command, status) in [(["status"], 5), (["logout", "--all"], 1)] {
                let result = try await station.run(["ksso"] + command)
                #expect(result.exitStatus == status && result.errors.contains(sentence), "\(result)")
            }
        }
    }

    @Test func `one that nobody needs ends by itself`() async throws {
        let result = try await station.ksso("agent", "run", "--idle-exit", "1s")
        let sentence = "the agent was idle for 1.0 seconds: it exits. Its tickets are kept for the next start."
        #expect(result == CommandResult(exitStatus: 0, output: "", errors: "ksso: \(sentence)\n"))
    }

    @Test func `where none runs`() async throws {
        for command in [["status"], ["status", "--json"], ["stop"]] {
            #expect(try await station.run(["ksso", "agent"] + command) == .failure(1, isNotRunning))
        }
        try RuntimeFolder.make(station)
        try UnixSocket.leave(at: "\(station.runtime)/agent.sock")
        #expect(try await station.ksso("agent", "status") == .failure(1, isNotRunning))
    }

    @Test func `a pinentry that is no program is refused`() async throws {
        let sentence = "nosuch: there is no such program. Give --pinentry the path of one."
        #expect(try await station.ksso("agent", "run", "--pinentry", "nosuch") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--pinentry", "nosuch", "--background") == .failure(1, sentence))
    }

    /// A request that may ask, where nobody can be: the journal says why, once.
    @Test(arguments: [[], ["--pinentry", "/bin/false"]])
    func `why nobody can be asked stands in the journal`(arguments: [String]) async throws {
        try station.install(profile())
        let (_, transcript) = try await station.withAgent(arguments) { _ async throws in
            for path in ["authorize", "login", "login"] {
                let body = path == "login" ? #"{"principal": "alice"}"# : #"{"url": "http://localhost/", "mayAsk": true}"#
                let answer = try await station.run([
                    "curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json", "-d", body,
                    "http://agent/v1/\(path)",
                ])
                #expect(answer.output.contains("ksso login"), "\(answer)")
            }
            try await eventually {
                let status = try await station.ksso("agent", "status").output
                return status.contains("no password prompt is available: ") && status.contains("Set GPG_TTY or DISPLAY")
            }
        }
        #expect(transcript.components(separatedBy: "no password prompt is available").count == 2, "\(transcript)")
    }

    /// Whoever signed in before there was an agent is not signed in again by the next one.
    @Test func `a sign-out holds for the next agent`() async throws {
        try await station.signIn()
        try await station.withAgent { _ async throws in
            try await eventually { try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] }
            #expect(try await station.ksso("logout").output == "alice@EXAMPLE.TEST is signed out.\n")
        }
        try await station.withAgent { _ async throws in
            #expect(try await station.status().sessions.isEmpty)
        }
    }

    /// A ticket of kinit stays in the system's cache, and goes with all others.
    @Test func `a sign-out of all holds for the next agent`() async throws {
        #expect(try await station.run(["kinit", "alice"], input: "secret\n").exitStatus == 0)
        try await station.withAgent { _ async throws in
            try await eventually { try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] }
            _ = try await station.ksso("logout")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 0)
            #expect(try await station.ksso("logout", "--all").output == "alice@EXAMPLE.TEST is signed out.\n")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        }
        try await station.withAgent { _ async throws in
            #expect(try await station.status().sessions.isEmpty)
        }
    }

    @Test func `a second one is refused`() async throws {
        try await station.withAgent { _ async throws in
            #expect(try await station.ksso("agent", "run") == .failure(1, isRunning))
            #expect(try await station.ksso("agent", "run", "--background") == .failure(1, isRunning))
            #expect(try await station.agentStatus().cacheMode == "agent")
        }
    }

    @Test(arguments: [0o777, 0o750, 0o701])
    func `a folder that is open to others`(mode: Int) async throws {
        try RuntimeFolder.make(station, mode: mode)
        try await expectUnusableFolder()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func `a folder of somebody else`() async throws {
        try RuntimeFolder.make(station)
        #expect(chown(station.runtime, 65534, 65534) == 0)
        try await expectUnusableFolder()
    }

    private func expectUnusableFolder() async throws {
        let sentence = "\(station.runtime): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR."
        #expect(try await station.ksso("agent", "run") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--background") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "status") == .failure(1, isNotRunning))
        #expect(try FileManager.default.contentsOfDirectory(atPath: station.runtime) == [])
    }

    /// Neither socket is believed where others could have put it there.
    @Test func `an agent in a folder that was opened`() async throws {
        try await station.withAgent { _ in
            // An agent that answers has finished its start. One that is still starting would take over the tickets of the sign-in below.
            _ = try await station.agentStatus()
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: station.runtime)
            try await station.signIn()
            let status = try await station.status()
            #expect(!status.agent && status.cacheMode == "system")
            #expect(status.sessions.map(\.cache) == [station.cache])
            #expect(try await station.ksso("agent", "status") == .failure(1, isNotRunning))
        }
    }

    @Test func `sockets that are stale are replaced`() async throws {
        try RuntimeFolder.make(station)
        for name in ["agent.sock", "kcm.sock"] { try UnixSocket.leave(at: "\(station.runtime)/\(name)") }
        let end = try await station.withAgent { _ in
            try await station.signIn()
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test(arguments: ["agent.sock", "kcm.sock"])
    func `something else in a sockets place`(name: String) async throws {
        try RuntimeFolder.make(station)
        let path = try station.write("mine", to: "run/\(name)")
        let sentence = "\(path): the file there is not a socket. Remove it, or set KSSO_RUNTIME_DIR."
        #expect(try await station.ksso("agent", "run") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--background") == .failure(1, sentence))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test func `one that was killed is replaced`() async throws {
        let killed = try await station.withAgent { agent in
            try await station.signIn()
            kill(agent.process, SIGKILL)
        }
        #expect(killed.status == 128 + Int(SIGKILL))
        #expect(try await station.ksso("agent", "status") == .failure(1, isNotRunning))
        let end = try await station.withAgent { _ in
            let sessions = try await station.status().sessions
            #expect(sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] && sessions.map(\.acquiredBy) == ["password"])
        }
        #expect(end.status == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends it in order`(signal: Int32) async throws {
        let end = try await station.withAgent { agent in
            try await station.signIn()
            kill(agent.process, signal)
        }
        #expect(end.status == 0 && end.transcript == "")
        let files = try FileManager.default.contentsOfDirectory(atPath: station.runtime)
        #expect(!files.contains { $0.hasSuffix(".sock") || $0 == "krb5.conf" }, "\(files)")
        // What it keeps on disk stays for the next one.
        try await station.withAgent { _ async throws in
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `signals that arrive while it ends do not kill it`() async throws {
        for _ in 0..<5 {
            let end = try await station.withAgent { agent in
                while String.contents(ofKernelFile: "/proc/\(agent.process)/cmdline")?.isEmpty == false {
                    kill(agent.process, SIGTERM)
                    await Task.yield()
                }
            }
            #expect(end.status == 0, "\(end)")
        }
    }

    @Test func `the tickets are in the folder that is named`() async throws {
        let folder = "\(station.directory)/kept"
        try await station.withAgent(["--tickets", folder]) { _ in try await station.signIn() }
        try FileManager.default.removeItem(atPath: station.runtime)
        try await station.withAgent(["--tickets", folder]) { _ async throws in
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `it leaves no core dump`() async throws {
        try await station.withAgent { agent in
            let limits = String.contents(ofKernelFile: "/proc/\(agent.process)/limits") ?? ""
            let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
            #expect(line.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(limits)")
        }
    }

    @Test func `options that exclude each other`() async throws {
        for options in [["--principal", "alice"], ["--system", "--tickets", "/tmp"]] {
            #expect(try await station.run(["ksso", "agent", "run"] + options).exitStatus == 64)
        }
    }
}

enum RuntimeFolder {
    /// Makes the runtime folder before an agent does.
    static func make(_ station: Workstation, mode: Int = 0o700) throws {
        try FileManager.default.createDirectory(atPath: station.runtime, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: station.runtime)
    }
}
