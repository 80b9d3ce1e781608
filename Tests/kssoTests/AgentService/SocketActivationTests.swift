import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// systemd starts the agent with listening sockets, which the agent uses and does not remove.
@Suite(
    .enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"),
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])
)
struct SocketActivationTests {
    let station: Workstation
    private var folder: String { "\(station.directory)/run" }

    init() throws {
        station = try Workstation()
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// Runs a program of libkrb5 whose default cache is at a socket.
    private func run(_ command: String..., socket: String, input: String? = nil) async throws -> CommandResult {
        let text = "[libdefaults]\n    kcm_socket = \(socket)\n"
        let configuration = try station.write(text, to: "kcm.conf") + ":\(station.realm.configurationPath)"
        return try await station.run(command, input: input, environment: ["KRB5_CONFIG": configuration, "KRB5CCNAME": "KCM:"])
    }

    /// Runs a closure while systemd-socket-activate listens, which starts the agent for the first client.
    private func whileActivated(
        sockets: [String],
        arguments: [String] = [],
        prefix: [String] = [],
        _ body: (NotificationSocket) async throws -> Void
    ) async throws -> (status: Int, output: String) {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let command =
            prefix + ["systemd-socket-activate"] + sockets.flatMap { ["-l", $0] }
            + Workstation.variablesForActivation.flatMap { ["-E", $0] } + ["-E", "NOTIFY_SOCKET=\(notifications.path)"]
            + ["\(station.directory)/bin/ksso", "agent", "run"] + arguments
        let end = try await withDaemon(command, on: station) { conversation in
            try await conversation.wait(for: "as \(2 + sockets.count).")
        } _: {
            try await body(notifications)
        }
        return (end.status, end.output)
    }

    @Test func `the first client of a socket starts the agent`() async throws {
        let sockets = ["kcm", "agent"].map { "\(folder)/\($0).sock" }
        let inodes = try sockets.map(inode)
        let end = try await whileActivated(sockets: sockets) { notifications in
            notifications.look()
            #expect(notifications.messages == [], "no client has connected yet")
            #expect(try await run("klist", "-s", socket: sockets[0]).exitStatus == 1)
            try await notifications.wait(for: "READY=1")
            #expect(notifications.messages == ["READY=1\nSTATUS=serving in \(folder)"])

            try await station.signIn()
            let list = try await run("klist", "-l", socket: sockets[0])
            #expect(list.exitStatus == 0 && list.output.contains("alice@EXAMPLE.TEST"), "\(list)")
            #expect(try await station.ksso("agent", "stop").output == "The agent has stopped.\n")
            try await notifications.wait(for: "STOPPING=1")
            #expect(notifications.messages.count == 2)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(inodes == [nil, nil])
        for socket in sockets { #expect(try inode(socket) != nil, "the socket belongs to systemd") }
    }

    /// The socket unit runs `ksso agent prepare` before it listens, so that stock programs find an agent that does not run yet.
    @Test func `a program that uses only the prepared krb5.conf starts the agent`() async throws {
        try station.install(profile())
        #expect(try await station.ksso("agent", "prepare") == .done(""))
        let variables = ["KRB5_CONFIG": "\(folder)/krb5.conf:\(station.realm.configurationPath)"]
        let command = ["env", "-u", "KRB5CCNAME"]
        let end = try await whileActivated(sockets: ["kcm", "agent"].map { "\(folder)/\($0).sock" }) { _ in
            let kinit = try await station.run(command + ["kinit", "alice"], input: "secret\n", environment: variables)
            #expect(kinit.exitStatus == 0, "\(kinit)")
            let list = try await station.run(command + ["klist", "-l"], environment: variables)
            #expect(list.output.contains("alice@EXAMPLE.TEST") && list.output.contains("KCM:"), "\(list)")
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            // The running agent has already written the file.
            #expect(try await station.ksso("agent", "prepare") == .done(""))
            #expect(try await station.ksso("agent", "stop").exitStatus == 0)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(FileManager.default.fileExists(atPath: "\(folder)/krb5.conf"), "systemd still listens")
    }

    /// systemd passes only the API socket.
    @Test func `the agent creates a socket that systemd did not pass`() async throws {
        let api = "\(folder)/agent.sock"
        let kcm = "\(folder)/kcm.sock"
        let end = try await whileActivated(sockets: [api]) { notifications in
            let reply = try await station.run(["curl", "-sS", "--max-time", "120", "--unix-socket", api, "http://agent/v1/status"])
            #expect(reply.exitStatus == 0 && reply.output.hasPrefix("{"), "\(reply)")
            #expect(try inode(kcm) != nil)
            #expect(try await station.ksso("agent", "stop").exitStatus == 0)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(try inode(api) != nil)
        #expect(try inode(kcm) == nil, "the agent removes the socket that it created")
    }

    /// A command prefix with the conditions of the system unit: its umask, and no capability to bypass file permissions.
    private static func confinement() throws -> [String] {
        let unit = try String(contentsOfFile: repositoryFile("Packaging/systemd/ksso-agent@.service"), encoding: .utf8)
        let mask = try #require(unit.firstMatch(of: /\nUMask=([0-7]+)\n/)?.1)
        let rights = geteuid() == 0 ? "setpriv --bounding-set -all --inh-caps -all" : ""
        return ["sh", "-c", "umask \(mask); exec \(rights) \"$@\"", "sh"]
    }

    /// The system unit's sockets are next to the runtime folder, because the folder is private and a group may connect.
    @Test func `sockets next to the runtime folder serve the user's own programs too`() async throws {
        let sockets = ["kcm", "agent"].map { "\(folder).\($0).sock" }
        let keytab = try await station.realm.keytab(for: "HTTP/localhost")
        let end = try await whileActivated(sockets: sockets, arguments: ["--keytab", keytab], prefix: Self.confinement()) { notifications in
            // The first request starts the agent, which may or may not have signed in when it replies.
            let first = try await run("klist", "-s", socket: sockets[0])
            #expect([0, 1].contains(first.exitStatus), "\(first)")
            try await notifications.wait(for: "READY=1")
            try await eventually { try await run("klist", "-s", socket: sockets[0]).exitStatus == 0 }
            let status = try await station.ksso("status")
            #expect(status.exitStatus == 0 && status.output.contains("HTTP/localhost@EXAMPLE.TEST (default)"), "\(status)")
            let list = try await station.run(["klist"], environment: ["KRB5_CONFIG": "\(folder)/krb5.conf", "KRB5CCNAME": "KCM:"])
            #expect(list.output.contains("Default principal: HTTP/localhost@EXAMPLE.TEST"), "\(list)")
            #expect(try await station.ksso("agent", "stop").exitStatus == 0)
        }
        #expect(end.status == 0, "\(end.output)")
        for (socket, name) in zip(sockets, ["kcm", "agent"]) {
            #expect(try inode(socket) != nil)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name).sock") == socket)
        }
        // An agent without systemd can use the same folder.
        let status = try await withServingAgent(at: station) { try await station.ksso("agent", "status") }
        #expect(status.exitStatus == 0, "\(status)")
    }

    /// The tickets are in the system's default cache, and a program that found the agent's cache socket would look for them there.
    @Test func `an agent with --system removes the cache socket that systemd passes`() async throws {
        let sockets = ["kcm", "agent"].map { "\(folder)/\($0).sock" }
        try station.install(profile())
        let end = try await whileActivated(sockets: sockets, arguments: ["--system"]) { notifications in
            let agent = try await station.ksso("agent", "status")
            #expect(agent.output.contains("it renews the tickets in the system's default cache"), "\(agent)")
            try await notifications.wait(for: "READY=1")
            #expect(try inode(sockets[0]) == nil)
            #expect(try await station.run(["kinit", "alice"], input: "secret\n").exitStatus == 0)
            let status = try await station.ksso("status")
            #expect(status.exitStatus == 0 && status.output.contains("alice@EXAMPLE.TEST"), "\(status)")
            #expect(try await station.ksso("agent", "stop").exitStatus == 0)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(end.output.contains("\(sockets[0]): the socket is removed because, with --system"), "\(end.output)")
        #expect(try inode(sockets[1]) != nil)
    }

    @Test func `the agent exits if systemd passes a socket with an unknown name`() async throws {
        let other = "\(folder)/other.sock"
        let end = try await whileActivated(sockets: [other]) { _ in
            // The agent inherits the connection and never replies.
            let reply = try await station.run(["curl", "-s", "--max-time", "120", "--unix-socket", other, "http://agent/"])
            #expect(reply.exitStatus != 0)
            // The connection closes before the agent prints the reason and exits.
            try await eventually { visibleStates(of: "\(station.directory)/bin/ksso", in: station.directory).isEmpty }
        }
        #expect(end.status == 1)
        #expect(end.output.contains("ksso: \(other): the socket is neither kcm.sock nor agent.sock; correct the unit that passes it.\n"))
        #expect(try inode(other) != nil)
    }

    /// The inode number of the file at a path; nil if there is no file.
    private func inode(_ path: String) throws -> Int? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return (try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber)?.intValue
    }
}
