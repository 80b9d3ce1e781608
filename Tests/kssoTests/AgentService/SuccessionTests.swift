import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Agents replace each other at the same sockets, and an agent detects that its sockets were removed or belong to another process.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct SuccessionTests {
    let station: Workstation
    private var sockets: [String] { ["kcm", "agent"].map { "\(station.runtime)/\($0).sock" } }

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// Runs a closure while systemd-socket-activate listens at the agent's sockets, which it replaces by its own.
    private func whileSystemdListens(_ body: () async throws -> Void) async throws -> (status: Int, output: String) {
        let command =
            ["systemd-socket-activate"] + sockets.flatMap { ["-l", $0] } + Workstation.variablesForActivation.flatMap { ["-E", $0] }
            + ["\(station.directory)/bin/ksso", "agent", "run"]
        let end = try await withDaemon(command, on: station) { conversation in
            try await conversation.wait(for: "as \(2 + sockets.count).")
        } _: {
            try await body()
        }
        return (end.status, end.output)
    }

    /// Whether a process has exited; true for a zombie too.
    private func hasEnded(_ process: Int32) -> Bool { String.contents(ofKernelFile: "/proc/\(process)/cmdline")?.isEmpty != false }

    /// The time limit of a command that reaches an agent. A command that waits for an unresponsive process takes half a minute.
    private let promptly = Duration.seconds(25)

    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `an agent that systemd starts replaces an agent in the background`() async throws {
        try await station.withBackgroundAgent { result async throws in
            #expect(result.exitStatus == 0, "\(result)")
            let predecessor = try await station.agentStatus().process.processID
            try await station.signIn()
            let end = try await whileSystemdListens { () async throws in
                let clock = ContinuousClock.now
                let status = try await station.ksso("status")
                #expect(status.exitStatus == 0 && status.output.contains("alice@EXAMPLE.TEST"), "\(status)")
                #expect(ContinuousClock.now - clock < promptly)
                try await eventually { hasEnded(predecessor) }
                let list = try await station.run(["ksso", "exec", "--", "klist"])
                #expect(list.output.contains("Default principal: alice@EXAMPLE.TEST"), "\(list)")
                #expect(try await station.agentStatus().process.processID != predecessor)
                #expect(try await station.ksso("agent", "stop").exitStatus == 0)
            }
            #expect(end.status == 0, "\(end.output)")
            for path in sockets + ["\(station.runtime)/krb5.conf"] {
                #expect(FileManager.default.fileExists(atPath: path), "the first agent removed \(path), which belongs to its successor")
            }
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `an agent that systemd starts terminates and replaces a suspended agent`() async throws {
        try await station.withBackgroundAgent { _ async throws in
            let predecessor = try await station.agentStatus().process.processID
            try await suspend(predecessor)
            let end = try await whileSystemdListens { () async throws in
                #expect(try await station.ksso("agent", "status").exitStatus == 0)
                #expect(hasEnded(predecessor))
                #expect(try await station.ksso("agent", "stop").exitStatus == 0)
            }
            #expect(end.output.contains("(process \(predecessor)), which is terminated."), "\(end.output)")
            #expect(end.status == 0, "\(end.output)")
        }
    }

    /// The test process binds the sockets and accepts no connection, for which the agent's engine would wait indefinitely.
    @Test func `an agent exits when another process has bound its sockets`() async throws {
        let end = try await station.withAgent { agent async throws in
            try await station.signIn()
            let listeners = try sockets.map(UnixSocket.occupy)
            defer { for descriptor in listeners { close(descriptor) } }
            try await eventually { hasEnded(agent.process) }
            for path in sockets { #expect(UnixSocket.isServed(path), "\(path) belongs to the other process") }
        }
        #expect(end.status == 0, "\(end)")
        #expect(end.transcript.contains("(process \(getpid())) listens there now, so this agent hands over and exits."), "\(end)")
        #expect(FileManager.default.fileExists(atPath: "\(station.runtime)/krb5.conf"), "the file points to the other process's socket")
    }

    @Test(arguments: ["kcm.sock", "agent.sock"]) func `the agent rebinds a removed socket`(name: String) async throws {
        let path = "\(station.runtime)/\(name)"
        let end = try await station.withAgent { _ async throws in
            try await station.signIn()
            #expect(unlink(path) == 0)
            try await eventually { UnixSocket.isServed(path) }
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            #expect(try await station.run(["ksso", "exec", "--", "klist", "-s"]).exitStatus == 0)
        }
        #expect(end.status == 0 && end.transcript.contains("\(path): the socket was lost, and was bound again."), "\(end)")
        #expect(!FileManager.default.fileExists(atPath: path), "the agent removes the socket that it bound")
    }

    @Test(arguments: ["kcm.sock", "agent.sock"])
    func `rebinding a removed socket three times leaks no file descriptor`(name: String) async throws {
        let path = "\(station.runtime)/\(name)"
        let end = try await station.withAgent { agent async throws in
            try await station.signIn()
            let before = try descriptors(of: agent.process)
            for _ in 0..<3 {
                #expect(unlink(path) == 0)
                try await eventually { UnixSocket.isServed(path) }
                try await eventually { try listenerCount(at: path) == 1 }
            }
            // One more descriptor may be open for a short time.
            try await eventually { try descriptors(of: agent.process) <= before + 1 }
            // The engine uses the new cache socket.
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
        #expect(end.status == 0, "\(end)")
    }

    private func descriptors(of process: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
    }

    @Test func `a folder in place of a lost socket is reported once and not removed`() async throws {
        let end = try await station.withAgent { agent async throws in
            try UnixSocket.obstruct(sockets[0])
            try station.write("mine", to: "run/kcm.sock/letter")
            try await agent.wait(for: "the file there is not a socket")
            #expect(try await station.ksso("agent", "status").output.contains("\(sockets[0]): the file there is not a socket."))
        }
        #expect(end.status == 0, "\(end)")
        #expect(end.transcript.components(separatedBy: "the file there is not a socket").count == 2, "once: \(end)")
        #expect(try String(contentsOfFile: "\(sockets[0])/letter", encoding: .utf8) == "mine")
    }

    @Test func `the agent's process is named ksso`() async throws {
        try await station.withBackgroundAgent { _ async throws in
            let process = try await station.agentStatus().process.processID
            #expect(String.contents(ofKernelFile: "/proc/\(process)/comm") == "ksso\n")
            #expect(String.contents(ofKernelFile: "/proc/\(process)/cmdline")?.hasPrefix("ksso\0agent\0run") == true)
        }
        try await station.withAgent { agent async throws in
            #expect(String.contents(ofKernelFile: "/proc/\(agent.process)/comm") == "ksso\n")
        }
    }

    /// The system's default cache is at a socket that accepts connections and never responds, like that of a suspended cache server.
    @Test func `an agent with --system exits even if the system's cache server never responds`() async throws {
        let socket = "\(station.directory)/silent.sock"
        let listener = try UnixSocket.occupy(socket)
        defer { close(listener) }
        let text = "[libdefaults]\n    kcm_socket = \(socket)\n"
        let configuration = try station.write(text, to: "silent.conf") + ":\(station.realm.configurationPath)"
        let end = try await station.withAgent(["--system"], environment: ["KRB5_CONFIG": configuration, "KRB5CCNAME": "KCM:"]) { _ in }
        #expect(end.status == 0, "\(end)")
    }

    /// Replaces the program by a copy in one step, as dpkg does.
    private func upgrade(_ program: String) async throws {
        try await station.copyProgram(to: "\(program).new")
        #expect(rename("\(program).new", program) == 0)
    }

    @Test func `an agent restarts in place when its program is replaced, and stays reachable`() async throws {
        let program = try await station.installProgram()
        let end = try await station.withAgent { agent async throws in
            try await station.signIn()
            let old = try #require(inode("/proc/\(agent.process)/exe"))
            try await upgrade(program)
            let new = try #require(inode(program))
            #expect(old != new)
            try await eventually {
                #expect(UnixSocket.isServed(sockets[0]) && UnixSocket.isServed(sockets[1]), "clients can connect at any time")
                return inode("/proc/\(agent.process)/exe") == new
            }
            let status = try await station.status()
            #expect(status.agent && status.sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            #expect(try await station.agentStatus().process.processID == agent.process)
            #expect(String.contents(ofKernelFile: "/proc/\(agent.process)/comm") == "ksso\n")
        }
        #expect(end.status == 0, "\(end)")
        #expect(end.transcript.contains("\(program) was replaced, so the agent restarts with the new program."), "\(end)")
        for path in sockets { #expect(!FileManager.default.fileExists(atPath: path), "the new program removes its sockets when it exits") }
    }

    @Test func `under systemd, an agent whose program is replaced exits with the status that restarts it`() async throws {
        let program = try await station.installProgram()
        let command = ["sh", "-c", "SYSTEMD_EXEC_PID=$$ exec ksso agent run"]
        let end = try await Conversation.with(command, on: station) { agent in
            try await eventually { UnixSocket.isServed(sockets[1]) }
            try await upgrade(program)
            try await eventually { hasEnded(agent.process) }
        }
        #expect(end.status == 75, "\(end)")
        for unit in ["ksso-agent", "ksso-agent@", "ksso-agent-system"] {
            let text = try String(contentsOfFile: repositoryFile("Packaging/systemd/\(unit).service"), encoding: .utf8)
            #expect(text.contains("\nRestartForceExitStatus=75\n"), "\(unit)")
        }
    }

    private func inode(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
