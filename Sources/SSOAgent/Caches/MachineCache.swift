internal import Foundation
internal import KCM
internal import Kerberos
internal import SSOAgentClient
internal import Synchronization
internal import SystemSupport

/// Serves the credential caches of every user of a machine, at the socket where libkrb5 looks for them. It has no API, no renewal and no
/// profiles.
///
/// It identifies each client by `SO_PEERCRED`, and each user sees only their own caches. It needs no privileges: systemd may bind the
/// socket for an unprivileged user.
package final class MachineCache: Sendable {
    /// The configuration of the server.
    package struct Options: Sendable {
        /// The path of the socket, if systemd passes none.
        package var socket = MachineCache.standardSocket
        /// The directory of the tickets, with a private folder for each user; it is created if missing.
        package var directory: String
        /// The maximum number of caches of one user, including those of the user's subordinate user IDs.
        package var maximumCaches = StoreLimits.defaultCaches
        /// The file with the ranges of subordinate user IDs.
        package var subordinateUsers = "/etc/subuid"
        /// How long a cache is kept after its tickets can neither be used nor renewed; nil keeps it.
        package var expiredCachePeriod: Duration? = .seconds(7 * 86_400)
        /// The environment, for the variables of systemd.
        package var environment: [String: String]
        /// Receives the log messages for the administrator, one line each.
        package var log: @Sendable (String) -> Void

        package init(directory: String, environment: [String: String], log: @escaping @Sendable (String) -> Void) {
            self.directory = directory
            self.environment = environment
            self.log = log
        }
    }

    /// The path that libkrb5 and Heimdal use if no configuration names another.
    package static let standardSocket = "/var/run/.heim_org.h5l.kcm-socket"

    private let options: Options
    /// The location of the socket; nil before it is served.
    private let place = Mutex<SocketPlace?>(nil)

    /// Creates a server that does not serve yet.
    package init(_ options: Options) { self.options = options }

    /// Serves until the closure returns, then answers the pending requests and returns. The tickets are kept for the next start.
    ///
    /// - Throws: `SocketError` if another process serves the socket, `StorageError` if the directory cannot be used, or ``AgentError``.
    package func run(until end: @escaping @Sendable () async -> Void) async throws {
        let subordinates = SubordinateUsers.Current()
        // The watch starts before the file is read, so that no change is missed.
        let watch = FileWatch { [path = options.subordinateUsers] in [path] }
        await readSubordinateUsers(subordinates)
        var settings = KCMServer.Options(
            directory: options.directory,
            storeLimits: StoreLimits(caches: options.maximumCaches, bytes: Self.storedBytes),
            retention: CacheRetention(
                period: options.expiredCachePeriod,
                keepsPrimary: { Self.hasSession($0) },
                isExempt: \.isReacquirable,
                removed: { [options] in options.log("user \($0.user): \($0.sentence)") }
            ),
            limits: Self.limits,
            isPermitted: { _ in true },
            report: { [options] in options.log("\($0)") },
            owner: { subordinates.owner(of: $0) }
        )
        settings.rootReachesOthers = true
        let server = try KCMServer(settings)
        let changes = watch?.changes ?? AsyncStream(unfolding: { nil })
        let watching = Task {
            for await _ in changes {
                if await readSubordinateUsers(subordinates) { await server.countAgain() }
            }
        }
        defer { watching.cancel() }
        let notification = ServiceNotification(environment: options.environment)
        do {
            let socket: ListeningSocket
            var isOwn = false
            if let inherited = try Self.inheritedSocket(options.environment) {
                socket = inherited
            } else {
                socket = try ListeningSocket.bind(path: options.socket, mode: 0o666)
                isOwn = true
            }
            let found = SocketPlace(socket: .caches, path: socket.path, file: socket.file, isOwn: isOwn)
            place.withLock { $0 = found }
            // systemd's socket stays, so that the next client makes systemd start the next server.
            defer { place.withLock { _ = $0?.removeOwnFile() } }
            try await server.serve(socket)
            notification.ready("serving the credential caches of every user")
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await end() }
                group.addTask { [self] in await watchSocket(of: server) }
                await group.next()
                group.cancelAll()
            }
            notification.stopping()
        } catch {
            await server.shutDown()
            throw error
        }
        await server.shutDown()
    }

    /// Returns whether a user has a session, according to systemd-logind; true if logind is not running.
    static func hasSession(_ user: UInt32, in folder: String = "/run/systemd/users") -> Bool {
        !FileManager.default.fileExists(atPath: folder) || FileManager.default.fileExists(atPath: "\(folder)/\(user)")
    }

    /// Checks that clients find the socket, and returns when another process listens there.
    private func watchSocket(of server: KCMServer) async {
        var reported: String?
        while (try? await Task.sleep(for: .seconds(2))) != nil {
            guard let current = place.withLock({ $0 }) else { continue }
            switch current.state {
            case .unchanged: reported = nil
            case .served(let listener):
                options.log("\(current.path): process \(listener.processID) listens there now, so this server stops.")
                return
            case .lost:
                do {
                    let socket = try ListeningSocket.bind(path: current.path, mode: 0o666)
                    let found = SocketPlace(socket: .caches, path: current.path, file: socket.file, isOwn: true)
                    do { try await server.serve(socket) } catch {
                        found.removeOwnFile()
                        throw error
                    }
                    place.withLock { $0 = found }
                    options.log("\(current.path): the socket was lost, and was bound again.")
                } catch {
                    let remedy = current.isOwn ? "" : " Restart its unit: systemctl restart ksso-kcm.socket"
                    if reported != "\(error)" { options.log("\(error)\(remedy)") }
                    reported = "\(error)"
                }
            }
        }
    }

    /// Reads the file on a background thread, because name lookups may use the network. Returns whether the ranges have changed.
    @discardableResult private func readSubordinateUsers(_ current: SubordinateUsers.Current) async -> Bool {
        await BlockingCall.run { [path = options.subordinateUsers] in current.replace(SubordinateUsers(path: path)) }
    }

    /// The memory of one user's caches.
    private static let storedBytes = 4 << 20

    /// The limits are lower than an agent's, because many users share this server. One request can replace all of a user's tickets.
    private static var limits: ServerLimits {
        ServerLimits(
            connections: 64,
            refusedConnections: 4,
            waitingBytes: storedBytes + (1 << 20),
            totals: .machine(descriptors: ProcessProtection.fileLimit)
        )
    }

    private static func inheritedSocket(_ environment: [String: String]) throws -> ListeningSocket? {
        let descriptors = InheritedSockets(environment: environment, processID: getpid()).descriptors
        guard let descriptor = descriptors.first else { return nil }
        guard descriptors.count == 1 else {
            throw AgentError(.unknownSocket, "systemd passed \(descriptors.count) sockets, but exactly one is supported; correct the unit.")
        }
        return try ListeningSocket(inherited: descriptor)
    }
}

/// The ranges of subordinate user IDs (subuid(5)), which map each user ID used in containers to its owner.
struct SubordinateUsers: Hashable, Sendable {
    /// A range of user IDs and its owner's ID.
    private struct Range: Hashable {
        var numbers: ClosedRange<UInt32>
        var owner: UInt32
    }

    private var ranges: [Range] = []

    /// The system's file of subordinate user IDs.
    static let path = "/etc/subuid"

    /// Creates an empty mapping.
    init() {}

    /// Parses the content of the file. Malformed lines are skipped.
    ///
    /// - Parameter number: Returns the user ID for a name, or nil if there is no such user.
    init(_ text: String, number: (String) -> UInt32?) {
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, !fields[0].isEmpty, let start = UInt32(fields[1]), let count = UInt32(fields[2]), count > 0 else {
                continue
            }
            let end = start.addingReportingOverflow(count - 1)
            // Root's containers do not count as root: each range of root has its own quota.
            let owner = UInt32(fields[0]) ?? number(String(fields[0])) ?? 0
            ranges.append(Range(numbers: start...(end.overflow ? .max : end.partialValue), owner: owner == 0 ? start : owner))
        }
    }

    /// Reads the file; the mapping is empty if the file is missing. It may wait for the network servers that resolve user names.
    init(path: String = SubordinateUsers.path) {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        self.init(text) { name in
            var (entry, result) = unsafe (passwd(), UnsafeMutablePointer<passwd>?.none)
            var buffer = [CChar](repeating: 0, count: 16 << 10)
            guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &result) == 0, unsafe result != nil else { return nil }
            return unsafe entry.pw_uid
        }
    }

    /// Returns the user ID whose quota a user counts against: the range's owner, or else the user.
    func owner(of user: UInt32) -> UInt32 {
        ranges.first { $0.numbers.contains(user) }?.owner ?? user
    }

    /// The current mapping, shared with a server that reads it on its own thread.
    final class Current: Sendable {
        private let value = Mutex(SubordinateUsers())

        func owner(of user: UInt32) -> UInt32 { value.withLock { $0.owner(of: user) } }

        /// Replaces the mapping and returns whether it has changed.
        func replace(_ users: SubordinateUsers) -> Bool {
            value.withLock { value in
                defer { value = users }
                return value != users
            }
        }
    }
}
