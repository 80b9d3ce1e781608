import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The credential caches of every user of a machine, at a socket of the test's own.
@Suite(
    .enabled(if: geteuid() == 0, "only root can become other users"),
    .testRealm(users: ["alice": "secret", "bob": "secret"]),
    .timeLimit(.minutes(2))
)
final class MachineCacheTests {
    let station: Workstation
    /// Where everybody may look.
    private let folder: String
    private var socket: String { "\(folder)/kcm.sock" }
    private var tickets: String { "\(folder)/tickets" }
    private var command: [String] { ["ksso", "agent", "run", "--machine", "--socket", socket, "--tickets", tickets] }
    private var variables: [String: String] { ["KRB5_CONFIG": "\(folder)/krb5.conf", "KRB5CCNAME": "KCM:"] }

    init() throws {
        station = try Workstation()
        folder = "/tmp/machine-\(UUID().uuidString.prefix(8))"
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        let text = """
            [libdefaults]
                kcm_socket = \(folder)/kcm.sock
                default_realm = EXAMPLE.TEST
                dns_lookup_kdc = false
                rdns = false
            [realms]
                EXAMPLE.TEST = {
                    kdc = 127.0.0.1:\(station.realm.kdcPort)
                }

            """
        try text.write(toFile: "\(folder)/krb5.conf", atomically: false, encoding: .utf8)
        #expect(chmod("\(folder)/krb5.conf", 0o644) == 0)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs the closure while the caches are served.
    private func whileServed(_ body: () async throws -> Void) async throws -> (status: Int, output: String) {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let end = try await withDaemon(command, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { _ in
            try await notifications.wait(for: "READY=1")
        } _: {
            try await body()
        }
        return (end.status, end.output)
    }

    private func run(as user: UInt32, _ words: String..., input: String? = nil) async throws -> CommandResult {
        let identity = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin"]
        return try await station.run(identity + variables.map { "\($0)=\($1)" } + words, input: input)
    }

    private func mode(_ path: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func `each user has their own and keeps them`() async throws {
        let first = try await whileServed { () async throws in
            #expect(try mode(socket) == 0o666)
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            #expect(try await run(as: 12346, "kinit", "bob", input: "secret\n").exitStatus == 0)
            let lists = (try await run(as: 12345, "klist", "-l").output, try await run(as: 12346, "klist", "-l").output)
            #expect(lists.0.contains("alice@EXAMPLE.TEST") && !lists.0.contains("bob@"), "\(lists)")
            #expect(lists.1.contains("bob@EXAMPLE.TEST") && !lists.1.contains("alice@"), "\(lists)")
            // Root is a user as others are.
            #expect(try await run(as: 0, "klist", "-s").exitStatus == 1)
            for name in ["KCM:12345", "KCM:12345:default"] {
                #expect(try await run(as: 12346, "klist", "-c", name).exitStatus == 1)
                _ = try await run(as: 12346, "kdestroy", "-c", name)
            }
            #expect(try await run(as: 65534, "klist", "-s").exitStatus == 1)
            #expect(try mode(tickets) == 0o700)
            #expect(try FileManager.default.contentsOfDirectory(atPath: tickets).sorted().filter { $0 != "0" } == ["12345", "12346"])
            #expect(try mode("\(tickets)/12345") == 0o700)
        }
        #expect(first.status == 0 && first.output == "", "\(first)")
        #expect(!FileManager.default.fileExists(atPath: socket))
        #expect(try await run(as: 12345, "klist", "-s").exitStatus == 1)

        let second = try await whileServed { () async throws in
            #expect(try await run(as: 12345, "klist").output.contains("Default principal: alice@EXAMPLE.TEST"))
            #expect(try await run(as: 12346, "kdestroy", "-A").exitStatus == 0)
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 0)
        }
        #expect(second.status == 0, "\(second)")
    }

    /// As pam_krb5 does with ccache=KCM:%u:default, before the login process becomes the user.
    @Test func `root stores a ticket in the cache of the user whom its name names`() async throws {
        let end = try await whileServed { () async throws in
            #expect(try await run(as: 0, "kinit", "-c", "KCM:12345:default", "alice", input: "secret\n").exitStatus == 0)
            let list = try await run(as: 12345, "klist")
            #expect(list.output.contains("KCM:12345:default") && list.output.contains("alice@EXAMPLE.TEST"), "\(list)")
            #expect(try await run(as: 0, "klist", "-s").exitStatus == 1, "root's own caches are empty")
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
            // No other user does so, and a number alone is a name like any other: root's own.
            let other = try await run(as: 12346, "kinit", "-c", "KCM:12345:default", "bob", input: "secret\n")
            #expect(other.exitStatus == 1, "\(other)")
            #expect(try await run(as: 0, "kinit", "-c", "KCM:12346", "bob", input: "secret\n").exitStatus == 0)
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
            #expect(try await run(as: 0, "kdestroy", "-c", "KCM:12345:default").exitStatus == 0)
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 1)
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `it refuses where another one serves`() async throws {
        let end = try await whileServed { () async throws in
            let other = ["ksso", "agent", "run", "--machine", "--socket", socket, "--tickets", "\(folder)/other"]
            #expect(try await station.run(other) == .failure(1, "\(socket): another process listens there."))
            let same = ["ksso", "agent", "run", "--machine", "--socket", "\(folder)/second.sock", "--tickets", tickets]
            let result = try await station.run(same)
            #expect(result.exitStatus == 1 && result.errors.contains("another server stores its caches there"), "\(result)")
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0, "the first one goes on")
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `a socket that was removed is bound again, and what takes its place is left`() async throws {
        let end = try await whileServed { () async throws in
            #expect(unlink(socket) == 0)
            try await eventually { UnixSocket.isServed(socket) }
            try await eventually { try listenerCount(at: socket) == 1 }
            #expect(try mode(socket) == 0o666)
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            #expect(unlink(socket) == 0)
            try FileManager.default.createDirectory(atPath: "\(socket)/folder", withIntermediateDirectories: true)
        }
        #expect(end.status == 0 && end.output.contains("\(socket): the socket was lost, and was bound again."), "\(end)")
        #expect(FileManager.default.fileExists(atPath: "\(socket)/folder"), "it is another program's")
    }

    /// Its tickets are every program's already: a copy would be renewed and ended apart from them.
    @Test func `a user's own agent does not copy its tickets`() async throws {
        try station.install(profile())
        let end = try await whileServed { () async throws in
            #expect(try await run(as: 0, "kinit", "alice", input: "secret\n").exitStatus == 0)
            try await station.withAgent([], environment: variables) { _ async throws in
                let status = try await station.ksso("status", "--json", environment: variables)
                #expect(!status.output.contains("alice@EXAMPLE.TEST"), "\(status)")
            }
        }
        #expect(end.status == 0, "\(end)")
    }

    /// The user's agent beside it renews what is there, and answers from it.
    @Test func `a users agent renews on top of it`() async throws {
        try station.install(profile())
        let end = try await whileServed { () async throws in
            try await station.withAgent(["--system"], environment: variables) { _ async throws in
                #expect(try await run(as: 0, "kinit", "-r", "1h", "alice", input: "secret\n").exitStatus == 0)
                let status = try await station.ksso("status", "--json", environment: variables)
                #expect(status.output.contains("KCM:0") && status.output.contains("alice@EXAMPLE.TEST"), "\(status)")
                let post = ["curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json"]
                let renewal = try await station.run(post + ["-d", "{}", "http://agent/v1/refresh"])
                #expect(renewal.output.contains("\"alice@EXAMPLE.TEST\""), "\(renewal)")
                #expect(try station.realm.issued(.serviceTicket, client: "alice", server: "krbtgt/EXAMPLE.TEST") == 1)
                #expect(try await run(as: 0, "klist").output.contains("Default principal: alice@EXAMPLE.TEST"))
            }
        }
        #expect(end.status == 0, "\(end)")
    }

    /// The user's agent can be asked and stopped while the machine's server is away.
    @Test func `a users agent outlives it`() async throws {
        #expect(try await station.ksso("agent", "run", "--system", "--background", environment: variables).exitStatus == 0)
        let status = try await station.ksso("agent", "status", environment: variables)
        #expect(status.exitStatus == 0 && status.output.contains("the sessions are unknown: "), "\(status)")
        #expect(status.output.contains("ksso-kcm.socket"), "\(status)")
        #expect(try await station.ksso("agent", "stop", environment: variables).output == "The agent has stopped.\n")
    }

    @Test(arguments: [["--system"], ["--keytab", "/a"], ["--idle-exit", "1h"], ["--background"], ["--profile", "a.yaml"]])
    func `what it knows nothing of`(options: [String]) async throws {
        #expect(try await station.run(["ksso", "agent", "run", "--machine"] + options).exitStatus == 64)
        #expect(try await station.run(["ksso", "agent", "run", "--socket", "/a"]).exitStatus == 64)
    }

    /// As the unit starts it: the socket is systemd's, and the process has no right of root's.
    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `on a socket of systemds without rights`() async throws {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let names = ["PATH", "NOTIFY_SOCKET"].flatMap { ["-E", $0] }
        let activate =
            ["systemd-socket-activate", "-l", socket] + names
            + ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "\(station.directory)/bin/ksso"] + command.dropFirst(1).prefix(3)
            + ["--tickets", tickets]
        let end = try await withDaemon(activate, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { conversation in
            try await conversation.wait(for: "as 3.")
            // As SocketMode says in the unit.
            #expect(chmod(socket, 0o666) == 0)
        } _: {
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            try await notifications.wait(for: "READY=1")
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 0)
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(FileManager.default.fileExists(atPath: socket), "it is systemd's")
    }
}
