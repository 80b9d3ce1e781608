internal import Foundation
internal import KCM
internal import Kerberos
internal import SSOAgentClient
internal import Synchronization

/// The credential caches of every user of a machine, at the socket where libkrb5 looks for them: no API, no renewal, no profiles.
///
/// Who asks is known by `SO_PEERCRED`, and each user sees what is theirs alone. It needs no right of its own: systemd may bind the socket
/// for a user that can do nothing else.
package final class MachineCache: Sendable {
    /// What it works with.
    package struct Options: Sendable {
        /// The socket, where systemd hands none over.
        package var socket = MachineCache.standardSocket
        /// Where the tickets are, a folder for each user; it is made where it is missing, and private.
        package var directory: String
        /// How many caches one user may have; those of the user's subordinate numbers count too.
        package var maximumCaches = StoreLimits.defaultCaches
        /// The file with the ranges of subordinate user numbers.
        package var subordinateUsers = "/etc/subuid"
        /// How long a cache is kept whose tickets can neither be used nor renewed; nil keeps it.
        package var expiredCachePeriod: Duration? = .seconds(7 * 86_400)
        /// Variables of systemd.
        package var environment: [String: String]
        /// What an administrator should read: a line each.
        package var log: @Sendable (String) -> Void

        package init(directory: String, environment: [String: String], log: @escaping @Sendable (String) -> Void) {
            self.directory = directory
            self.environment = environment
            self.log = log
        }
    }

    /// Where libkrb5 and Heimdal look when no configuration says otherwise.
    package static let standardSocket = "/var/run/.heim_org.h5l.kcm-socket"

    private let options: Options
    /// Where programs find the socket; nil before it serves.
    private let place = Mutex<SocketPlace?>(nil)

    /// One that serves nobody yet.
    package init(_ options: Options) { self.options = options }

    /// Serves until the closure returns; then answers what has arrived and ends. The tickets stay for the next one.
    ///
    /// - Throws: `SocketError` where something else serves the socket, `StorageError` where the folder can't be used, ``AgentError``.
    package func run(until end: @escaping @Sendable () async -> Void) async throws {
        let subordinates = SubordinateUsers.Current()
        // Before the file is read, so that no change is missed.
        let watch = FileWatch { [path = options.subordinateUsers] in [path] }
        await readSubordinateUsers(subordinates)
        var settings = KCMServer.Options(
            directory: options.directory,
            storeLimits: StoreLimits(caches: options.maximumCaches, bytes: 4 << 20),
            retention: CacheRetention(
                period: options.expiredCachePeriod,
                keepsPrimary: Self.hasSession,
                isExempt: \.isAcquiredAgain,
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
            // The one of systemd stays: the next program has systemd start the next server.
            defer { place.withLock { _ = $0?.removeOwnFile() } }
            try await server.serve(socket)
            notification.ready("serves the credential caches of every user")
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

    /// Whether a user has a session, by systemd-logind; everybody has where there is none.
    private static func hasSession(_ user: UInt32) -> Bool {
        let folder = "/run/systemd/users"
        return !FileManager.default.fileExists(atPath: folder) || FileManager.default.fileExists(atPath: "\(folder)/\(user)")
    }

    /// Sees that programs find the socket. Returns when another process serves them.
    private func watchSocket(of server: KCMServer) async {
        var reported: String?
        while (try? await Task.sleep(for: .seconds(2))) != nil {
            guard let current = place.withLock({ $0 }) else { continue }
            switch current.state {
            case .unchanged: reported = nil
            case .served(let listener):
                options.log("\(current.path): process \(listener.processID) listens there now, so this server ends.")
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
                    options.log("\(current.path): the socket was lost, and is bound again.")
                } catch {
                    let remedy = current.isOwn ? "" : " Restart its unit: systemctl restart ksso-kcm.socket"
                    if reported != "\(error)" { options.log("\(error)\(remedy)") }
                    reported = "\(error)"
                }
            }
        }
    }

    /// On a thread of its own, for names may come from the network. Returns whether something has changed.
    @discardableResult private func readSubordinateUsers(_ current: SubordinateUsers.Current) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [path = options.subordinateUsers] in
                continuation.resume(returning: current.replace(SubordinateUsers(path: path)))
            }
        }
    }

    /// One user is one of many here.
    private static var limits: ServerLimits {
        ServerLimits(
            connections: 64,
            refusedConnections: 4,
            waitingBytes: 1 << 20,
            totals: .machine(descriptors: ProcessProtection.fileLimit)
        )
    }

    private static func inheritedSocket(_ environment: [String: String]) throws -> ListeningSocket? {
        let descriptors = InheritedSockets(environment: environment, processID: getpid()).descriptors
        guard let descriptor = descriptors.first else { return nil }
        guard descriptors.count == 1 else {
            throw AgentError(.unknownSocket, "systemd handed \(descriptors.count) sockets over, and one is served; correct the unit.")
        }
        return try ListeningSocket(inherited: descriptor)
    }
}

/// The ranges of subordinate user numbers (subuid(5)): whose number it is, of those that a user may take in containers.
struct SubordinateUsers: Hashable, Sendable {
    /// A range, and the number that stands for its owner.
    private struct Range: Hashable {
        var numbers: ClosedRange<UInt32>
        var owner: UInt32
    }

    private var ranges: [Range] = []

    /// The file where ranges are granted.
    static let path = "/etc/subuid"

    /// No range.
    init() {}

    /// Reads the content of the file. A line that is none is skipped.
    ///
    /// - Parameter number: The number of a user's name, nil where no one has the name.
    init(_ text: String, number: (String) -> UInt32?) {
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, !fields[0].isEmpty, let start = UInt32(fields[1]), let count = UInt32(fields[2]), count > 0 else {
                continue
            }
            let end = start.addingReportingOverflow(count - 1)
            // What root runs in containers is not root: it has its own share.
            let owner = UInt32(fields[0]) ?? number(String(fields[0])) ?? 0
            ranges.append(Range(numbers: start...(end.overflow ? .max : end.partialValue), owner: owner == 0 ? start : owner))
        }
    }

    /// Reads the file of this machine; no range where there is none. It may wait for the servers that the names come from.
    init(path: String = SubordinateUsers.path) {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        self.init(text) { name in
            var (entry, result) = unsafe (passwd(), UnsafeMutablePointer<passwd>?.none)
            var buffer = [CChar](repeating: 0, count: 16 << 10)
            guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &result) == 0, unsafe result != nil else { return nil }
            return unsafe entry.pw_uid
        }
    }

    /// With whom a user is counted: the owner of the number, else the user.
    func owner(of user: UInt32) -> UInt32 {
        ranges.first { $0.numbers.contains(user) }?.owner ?? user
    }

    /// All that is known now, for a server that asks on its own thread.
    final class Current: Sendable {
        private let value = Mutex(SubordinateUsers())

        func owner(of user: UInt32) -> UInt32 { value.withLock { $0.owner(of: user) } }

        /// Takes another value; whether it differs.
        func replace(_ users: SubordinateUsers) -> Bool {
            value.withLock { value in
                defer { value = users }
                return value != users
            }
        }
    }
}
