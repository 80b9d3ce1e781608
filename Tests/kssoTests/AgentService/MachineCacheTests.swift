import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso agent run --machine` serves the credential caches of all users of a machine.
@Suite(
    .enabled(if: geteuid() == 0, "only root can become other users"),
    .testRealm(users: ["alice": "secret", "bob": "secret"]),
    .timeLimit(.minutes(2))
)
final class MachineCacheTests {
    let station: Workstation
    /// A folder that every user can read.
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

    /// Runs the closure while the cache server runs.
    private func whileServed(_ options: String..., body: () async throws -> Void) async throws -> (status: Int, output: String) {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let end = try await withDaemon(command + options, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { _ in
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

    @Test func `--max-caches limits the caches of each user`() async throws {
        let end = try await whileServed("--max-caches", "1") { () async throws in
            for user in [12345, 12346] as [UInt32] {
                #expect(try await run(as: user, "kinit", "alice", input: "secret\n").exitStatus == 0)
            }
            let second = try await run(as: 12345, "kinit", "bob", input: "secret\n")
            #expect(second.exitStatus != 0 && second.errors.contains("Disk quota exceeded"), "\(second)")
        }
        #expect(end.output.contains("user 12345 has 1 credential caches, which is the limit (--max-caches)."), "\(end.output)")
    }

    /// If the server refused the request, libkrb5 would either fail or store the tickets one by one, which renames no file.
    @Test func `a cache as large as the user's quota is replaced by one request`() async throws {
        let end = try await whileServed {
            var configuration = station.realm.configuration(defaultCacheName: "KCM:")
            configuration.libdefaults["kcm_socket"] = socket
            let client = KerberosClient(configuration)
            let alice = try Principal("alice", defaultRealm: station.realm.name)
            let ticket = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
            let cache = CredentialCacheName(rawValue: "KCM:")
            let marks = Dictionary(uniqueKeysWithValues: (0..<12).map { ("ksso_\($0)", String(repeating: "x", count: 340_000)) })
            try await client.replace(cache, principal: alice, credentials: [ticket], marks: marks)
            #expect(try await client.contents(of: cache).marks == marks)
            let large = marks.merging(["ksso_00": String(repeating: "x", count: 340_000)]) { old, _ in old }
            await #expect(throws: KerberosError.self) {
                try await client.replace(cache, principal: alice, credentials: [ticket], marks: large)
            }
            #expect(try await client.contents(of: cache).marks == marks)
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `each user has separate caches, which a restart of the server keeps`() async throws {
        let first = try await whileServed { () async throws in
            #expect(try mode(socket) == 0o666)
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            #expect(try await run(as: 12346, "kinit", "bob", input: "secret\n").exitStatus == 0)
            let lists = (try await run(as: 12345, "klist", "-l").output, try await run(as: 12346, "klist", "-l").output)
            #expect(lists.0.contains("alice@EXAMPLE.TEST") && !lists.0.contains("bob@"), "\(lists)")
            #expect(lists.1.contains("bob@EXAMPLE.TEST") && !lists.1.contains("alice@"), "\(lists)")
            // Root cannot see the caches of other users either.
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

    /// pam_krb5 does so with ccache=KCM:%u:default, before the login process switches to the user.
    @Test func `root can store a ticket in the default cache of another user`() async throws {
        let end = try await whileServed { () async throws in
            #expect(try await run(as: 0, "kinit", "-c", "KCM:12345:default", "alice", input: "secret\n").exitStatus == 0)
            let list = try await run(as: 12345, "klist")
            #expect(list.output.contains("KCM:12345:default") && list.output.contains("alice@EXAMPLE.TEST"), "\(list)")
            #expect(try await run(as: 0, "klist", "-s").exitStatus == 1, "root's own caches are empty")
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
            // No other user can do so. A name that is only a number is an ordinary name of root's own cache.
            let other = try await run(as: 12346, "kinit", "-c", "KCM:12345:default", "bob", input: "secret\n")
            #expect(other.exitStatus == 1, "\(other)")
            #expect(try await run(as: 0, "kinit", "-c", "KCM:12346", "bob", input: "secret\n").exitStatus == 0)
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
            #expect(try await run(as: 0, "kdestroy", "-c", "KCM:12345:default").exitStatus == 0)
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 1)
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `a second cache server on the same socket or tickets folder is refused`() async throws {
        let end = try await whileServed { () async throws in
            let other = ["ksso", "agent", "run", "--machine", "--socket", socket, "--tickets", "\(folder)/other"]
            #expect(try await station.run(other) == .failure(1, "\(socket): another process listens there."))
            let same = ["ksso", "agent", "run", "--machine", "--socket", "\(folder)/second.sock", "--tickets", tickets]
            let result = try await station.run(same)
            #expect(result.exitStatus == 1 && result.errors.contains("another server stores its caches there"), "\(result)")
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0, "the first server still works")
        }
        #expect(end.status == 0, "\(end)")
    }

    @Test func `the cache server rebinds a removed socket, and does not remove a folder in its place`() async throws {
        let end = try await whileServed { () async throws in
            #expect(unlink(socket) == 0)
            try await eventually { UnixSocket.isServed(socket) }
            try await eventually { try listenerCount(at: socket) == 1 }
            #expect(try mode(socket) == 0o666)
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            try UnixSocket.obstruct(socket)
        }
        #expect(end.status == 0 && end.output.contains("\(socket): the socket was lost, and was bound again."), "\(end)")
        #expect(FileManager.default.fileExists(atPath: "\(socket)/folder"), "the server does not remove what it did not create")
    }

    @Test func `the cache server exits when another process serves its socket, which stays`() async throws {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        var listener: Int32 = -1
        defer { close(listener) }
        let end = try await withDaemon(command, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { conversation in
            try await notifications.wait(for: "READY=1")
            listener = try UnixSocket.occupy(socket)
            // The shell exits with the server.
            try await eventually {
                String.contents(ofKernelFile: "/proc/\(conversation.process)/cmdline")?.isEmpty != false
            }
        } _: {
        }
        let sentence = "\(socket): process \(getpid()) listens there now, so this server stops."
        #expect(end.status == 0 && end.output.contains(sentence), "\(end)")
        #expect(UnixSocket.isServed(socket), "the socket belongs to the other process")
    }

    /// Each user has an account on the server, and both are counted for the user who owns the range.
    @Test(
        .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason)),
        .enabled(if: FileManager.default.fileExists(atPath: "/etc/subuid"), "there is no /etc/subuid")
    )
    func `the cache server counts subordinate UIDs for the owner in /etc/subuid, and follows changes of the file`() async throws {
        let file = "\(folder)/subuid"
        try "1234:12345:2\n".write(toFile: file, atomically: false, encoding: .utf8)
        let limited = PrivateMounts.command(#"mount --bind "$1" /etc/subuid; shift; exec "$@""#, [file] + command + ["--max-caches", "1"])
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let end = try await withDaemon(limited, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { _ in
            try await notifications.wait(for: "READY=1")
        } _: {
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            let refused = try await run(as: 12346, "kinit", "bob", input: "secret\n")
            #expect(refused.exitStatus == 1, "\(refused)")
            #expect(try await run(as: 12347, "kinit", "bob", input: "secret\n").exitStatus == 0)
            // Written in place, because the server has this very file at /etc/subuid.
            try "1234:12345:1\n".write(toFile: file, atomically: false, encoding: .utf8)
            try await eventually { try await run(as: 12346, "kinit", "bob", input: "secret\n").exitStatus == 0 }
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 0)
        }
        #expect(end.status == 0, "\(end)")
    }

    /// Every program already sees these tickets, and a copy would be renewed and destroyed independently of them.
    @Test func `a user's agent does not copy tickets from the machine's cache server`() async throws {
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

    /// The user's agent runs next to the cache server, renews its tickets and uses them for requests.
    @Test func `a user's agent with --system renews the tickets in the machine's cache server`() async throws {
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

    /// No cache server runs in this test.
    @Test func `a user's agent can be queried and stopped while the cache server is down`() async throws {
        #expect(try await station.ksso("agent", "run", "--system", "--background", environment: variables).exitStatus == 0)
        let status = try await station.ksso("agent", "status", environment: variables)
        #expect(status.exitStatus == 0 && status.output.contains("the sessions are unknown: "), "\(status)")
        #expect(status.output.contains("ksso-kcm.socket"), "\(status)")
        #expect(try await station.ksso("agent", "stop", environment: variables).output == "The agent has stopped.\n")
    }

    @Test(arguments: [["--system"], ["--keytab", "/a"], ["--idle-exit", "1h"], ["--background"], ["--profile", "a.yaml"]])
    func `--machine refuses the options of a user's agent`(options: [String]) async throws {
        #expect(try await station.run(["ksso", "agent", "run", "--machine"] + options).exitStatus == 64)
        #expect(try await station.run(["ksso", "agent", "run", "--socket", "/a"]).exitStatus == 64)
    }

    /// The unit starts the server in this way: systemd owns the socket, and the process has no capabilities.
    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `the cache server runs without capabilities on a socket that systemd passes`() async throws {
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let names = (["PATH", "NOTIFY_SOCKET"] + Workstation.variablesOfSanitizers).flatMap { ["-E", $0] }
        let activate =
            ["systemd-socket-activate", "-l", socket] + names
            + ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "\(station.directory)/bin/ksso"] + command.dropFirst(1).prefix(3)
            + ["--tickets", tickets]
        let end = try await withDaemon(activate, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { conversation in
            try await conversation.wait(for: "as 3.")
            // SocketMode in the unit has the same effect.
            #expect(chmod(socket, 0o666) == 0)
        } _: {
            #expect(try await run(as: 12345, "kinit", "alice", input: "secret\n").exitStatus == 0)
            try await notifications.wait(for: "READY=1")
            #expect(try await run(as: 12345, "klist", "-s").exitStatus == 0)
            #expect(try await run(as: 12346, "klist", "-s").exitStatus == 1)
        }
        #expect(end.status == 0, "\(end.output)")
        #expect(FileManager.default.fileExists(atPath: socket), "the socket belongs to systemd")
    }
}
