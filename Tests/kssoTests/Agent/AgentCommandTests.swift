import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso agent run`, `status` and `stop` manage one agent per runtime folder, however the previous one ended.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct AgentCommandTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var isRunning: String { "an agent is already running in \(station.runtime). See: ksso agent status" }
    private var isNotRunning: String { "no agent is running in \(station.runtime). Start one with: ksso agent run --background" }

    @Test func `an agent started with --background can be inspected and stopped`() async throws {
        try await station.withBackgroundAgent { result in
            #expect(result == .done("The agent serves in \(station.runtime). Stop it with: ksso agent stop\n"))
            let document = try await station.agentStatus()
            #expect(document.agent && document.cacheMode == "agent")
            #expect(document.process.caches == 0 && document.process.tickets == 0)
            try await station.signIn()
            let process = document.process.processID
            let status = try await station.ksso("agent", "status")
            let first = "The agent serves in \(station.runtime): process \(process), since TIME.\n"
            #expect(status.withoutTimes.output.hasPrefix(first + "    1 ticket in 1 credential cache\n"), "\(status)")
            let stop = try await station.ksso("agent", "stop")
            let kept = "The tickets of alice@EXAMPLE.TEST are kept for the next start. To destroy them: "
            #expect(stop.exitStatus == 0 && stop.output == "The agent has stopped.\n" && stop.errors.hasPrefix(kept), "\(stop)")
            try await eventually { kill(process, 0) != 0 }
            // These commands report the tickets on disk instead of claiming that none exist.
            let sentence = "the agent is not running, and has tickets in \(station.runtime)/tickets. To use or destroy them, first run: "
            for (command, status) in [(["status"], 5), (["logout", "--all"], 1)] {
                let result = try await station.run(["ksso"] + command)
                #expect(result.exitStatus == status && result.errors.contains(sentence), "\(result)")
            }
        }
    }

    @Test func `an idle agent exits after the time given by --idle-exit`() async throws {
        let result = try await station.ksso("agent", "run", "--idle-exit", "1s")
        let sentence = "the agent was idle for 1.0 seconds: it exits. Its tickets are kept for the next start."
        #expect(result == CommandResult(exitStatus: 0, output: "", errors: "ksso: \(sentence)\n"))
    }

    @Test func `status and stop fail with advice if no agent is running`() async throws {
        for command in [["status"], ["status", "--json"], ["stop"]] {
            #expect(try await station.run(["ksso", "agent"] + command) == .failure(1, isNotRunning))
        }
        try RuntimeFolder.make(station)
        try UnixSocket.leave(at: "\(station.runtime)/agent.sock")
        #expect(try await station.ksso("agent", "status") == .failure(1, isNotRunning))
    }

    @Test func `a --pinentry that does not exist is refused`() async throws {
        let sentence = "nosuch: there is no such program. Give --pinentry the path of one."
        #expect(try await station.ksso("agent", "run", "--pinentry", "nosuch") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--pinentry", "nosuch", "--background") == .failure(1, sentence))
    }

    /// Requests that allow a password prompt arrive while none is available.
    @Test(arguments: [[], ["--pinentry", "/bin/false"]])
    func `the agent logs once why no password prompt is available`(arguments: [String]) async throws {
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

    /// The sign-in precedes the first agent, which takes over the ticket. The next agent must not take it over again.
    @Test func `a sign-out remains effective after the agent restarts`() async throws {
        try await station.signIn()
        try await station.withAgent { _ async throws in
            try await eventually { try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] }
            #expect(try await station.ksso("logout").output == "alice@EXAMPLE.TEST is signed out.\n")
        }
        try await station.withAgent { _ async throws in
            #expect(try await station.status().sessions.isEmpty)
        }
    }

    /// `ksso logout` keeps a ticket that kinit stored in the system's cache; `--all` destroys it.
    @Test func `logout --all also destroys a kinit ticket, and remains effective after a restart`() async throws {
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

    @Test func `a second agent in the same runtime folder is refused`() async throws {
        try await station.withAgent { _ async throws in
            #expect(try await station.ksso("agent", "run") == .failure(1, isRunning))
            #expect(try await station.ksso("agent", "run", "--background") == .failure(1, isRunning))
            #expect(try await station.agentStatus().cacheMode == "agent")
        }
    }

    /// A script that starts the agent may hold a lock, or be at the end of a pipe.
    @Test func `a background agent keeps none of its caller's files open`() async throws {
        let lock = "\(station.directory)/lock"
        let script = "exec 9>'\(lock)'; flock -n 9 && exec ksso agent run --background"
        #expect(try await station.run(["sh", "-c", script]).exitStatus == 0)
        let process = try await station.agentStatus().process.processID
        defer { kill(process, SIGKILL) }
        #expect(try await station.run(["flock", "-n", lock, "true"]).exitStatus == 0)
    }

    @Test(arguments: [0o777, 0o750, 0o701])
    func `a runtime folder with permissions for other users is refused`(mode: Int) async throws {
        try RuntimeFolder.make(station, mode: mode)
        let reason = mode == 0o777 ? isForeign : "other users can access it. Run: chmod 700 \(station.runtime)"
        try await expectUnusableFolder(reason)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a runtime folder owned by another user is refused`() async throws {
        try RuntimeFolder.make(station)
        #expect(chown(station.runtime, 65534, 65534) == 0)
        try await expectUnusableFolder(isForeign)
    }

    private let isForeign = "it belongs to another user, or others can write to it. Remove it, or set KSSO_RUNTIME_DIR to another folder."

    private func expectUnusableFolder(_ reason: String) async throws {
        let sentence = "\(station.runtime): the folder is not used, because \(reason)"
        #expect(try await station.ksso("agent", "run") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--background") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "status") == .failure(1, sentence))
        let status = try await station.ksso("status")
        #expect(status.exitStatus == 5 && status.errors.hasPrefix("ksso: warning: \(sentence)\n"), "\(status)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: station.runtime) == [])
    }

    /// Commands ignore both sockets, because another user could have created them.
    @Test func `commands ignore an agent whose runtime folder other users can write to`() async throws {
        try await station.withAgent { _ in
            // An agent that responds has finished its start. One that is still starting would take over the tickets of the sign-in below.
            _ = try await station.agentStatus()
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: station.runtime)
            #expect(try await station.ksso("login", "alice", "--password-stdin", input: "secret\n").exitStatus == 0)
            let status = try await station.status()
            #expect(!status.agent && status.cacheMode == "system")
            #expect(status.sessions.map(\.cache) == [station.cache])
            let diagnosis = try await station.ksso("doctor", "EXAMPLE.TEST").output
            #expect(diagnosis.contains("! cache: the tickets are in \(station.cache), and an agent is ignored.\n"), "\(diagnosis)")
            let answer = try await station.ksso("agent", "status")
            #expect(answer == .failure(1, "\(station.runtime): the folder is not used, because \(isForeign)"))
        }
    }

    @Test func `stale sockets are replaced`() async throws {
        try RuntimeFolder.make(station)
        for name in ["agent.sock", "kcm.sock"] { try UnixSocket.leave(at: "\(station.runtime)/\(name)") }
        let end = try await station.withAgent { _ in
            try await station.signIn()
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test(arguments: ["agent.sock", "kcm.sock"])
    func `a file that is not a socket prevents the agent's start and is not removed`(name: String) async throws {
        try RuntimeFolder.make(station)
        let path = try station.write("mine", to: "run/\(name)")
        let sentence = "\(path): the file there is not a socket. Remove it, or set KSSO_RUNTIME_DIR."
        #expect(try await station.ksso("agent", "run") == .failure(1, sentence))
        #expect(try await station.ksso("agent", "run", "--background") == .failure(1, sentence))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test func `an agent that replaces a killed one restores its sessions`() async throws {
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
    func `SIGTERM and SIGINT make the agent exit with status 0 and keep its tickets`(signal: Int32) async throws {
        let end = try await station.withAgent { agent in
            try await station.signIn()
            kill(agent.process, signal)
        }
        #expect(end.status == 0 && end.transcript == "")
        let files = try FileManager.default.contentsOfDirectory(atPath: station.runtime)
        #expect(!files.contains { $0.hasSuffix(".sock") || $0 == "krb5.conf" }, "\(files)")
        // The tickets on disk stay for the next agent.
        try await station.withAgent { _ async throws in
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `signals that arrive during shutdown do not kill the agent`() async throws {
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

    @Test func `--tickets sets the folder in which the agent stores its tickets`() async throws {
        let folder = "\(station.directory)/kept"
        try await station.withAgent(["--tickets", folder]) { _ in try await station.signIn() }
        try FileManager.default.removeItem(atPath: station.runtime)
        try await station.withAgent(["--tickets", folder]) { _ async throws in
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `core dumps are disabled for the agent`() async throws {
        try await station.withAgent { agent in
            let limits = String.contents(ofKernelFile: "/proc/\(agent.process)/limits") ?? ""
            let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
            #expect(line.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(limits)")
        }
    }

    @Test func `ksso agent run refuses invalid combinations of options`() async throws {
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
