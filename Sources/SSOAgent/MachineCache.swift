internal import Foundation
internal import KCM
internal import Kerberos

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

    /// One that serves nobody yet.
    package init(_ options: Options) { self.options = options }

    /// Serves until the closure returns; then answers what has arrived and ends. The tickets stay for the next one.
    ///
    /// - Throws: `SocketError` where something else serves the socket, `StorageError` where the folder can't be used, ``AgentError``.
    package func run(until end: @escaping @Sendable () async -> Void) async throws {
        let server = try KCMServer(
            KCMServer.Options(
                directory: options.directory,
                storeLimits: StoreLimits(bytes: 4 << 20),
                limits: Self.limits,
                isPermitted: { _ in true },
                writeFailure: { [options] in options.log("a ticket was refused: \($0)") }
            )
        )
        let notification = ServiceNotification(environment: options.environment)
        var hasOwnSocket = false
        // The one of systemd stays: whoever comes next has systemd start the next server.
        defer { if hasOwnSocket { try? FileManager.default.removeItem(atPath: options.socket) } }
        do {
            if let socket = try Self.inheritedSocket(options.environment) {
                try await server.serve(socket)
            } else {
                try await server.serve(try ListeningSocket.bind(path: options.socket, mode: 0o666))
                hasOwnSocket = true
            }
            notification.ready("serves the credential caches of every user")
            await end()
            notification.stopping()
        } catch {
            await server.shutDown()
            throw error
        }
        await server.shutDown()
    }

    /// One user is one of many here, and a person may have many numbers (subuid(5)).
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
