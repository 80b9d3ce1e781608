internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

/// A FILE cache for one process whose program supports no other type. It contains the ticket-granting tickets of the session that answers.
///
/// Its name contains the process ID and start time, so that later commands can tell whether the process still runs.
struct PrivateCache {
    /// The process, which stays the same if it executes another program.
    let process: RunningProcess
    /// The path of the file.
    let path: String

    init(of process: RunningProcess, in runtime: RuntimeDirectory) {
        self.process = process
        path = "\(runtime.path)/\(Self.prefix)\(process.processID)-\(process.started)\(Self.suffix)"
    }

    private static let prefix = "exec-"
    private static let suffix = ".ccache"

    /// The result of the last copy.
    struct Copied {
        let principal: Principal
        let tickets: [Credential]

        func isIdentical(to other: Copied) -> Bool {
            principal == other.principal && tickets.elementsEqual(other.tickets) { $0.isIdentical(to: $1) }
        }
    }

    /// Copies the tickets of the default session unless they are unchanged; removes the file if no one is signed in.
    func update(from sso: SingleSignOn, last: Copied?) async throws -> Copied? {
        let realm = try await sso.names.defaultRealm()
        let sessions = try await sso.sessions().sessions.filter(\.isSignedIn)
        guard let session = sessions.first(where: { $0.realm == realm && $0.isDefault }) ?? sessions.first(where: \.isDefault) else {
            remove()
            return nil
        }
        let client = KerberosClient(RealmConfiguration(realm: session.realm))
        let contents = try await client.contents(of: session.cache)
        let tickets = contents.credentials.filter { $0.client == session.principal && $0.server.isTicketGrantingService }
        let copied = Copied(principal: session.principal, tickets: tickets)
        if let last, copied.isIdentical(to: last) { return last }
        try await client.replace(
            CredentialCacheName(rawValue: "FILE:\(path)"),
            principal: session.principal,
            credentials: tickets,
            clockOffset: contents.clockOffset(at: Date())
        )
        return copied
    }

    /// Removes the file and the temporary files of interrupted copies.
    func remove() {
        unlink(path)
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().path
        for name in Self.names(in: folder) where name.hasPrefix(".\(file.lastPathComponent).") { unlink("\(folder)/\(name)") }
    }

    /// Removes the caches of processes that have ended and whose keeper was killed.
    static func removeAbandoned(in runtime: RuntimeDirectory) {
        guard PrivateDirectory(path: runtime.path).isTrusted else { return }
        for name in names(in: runtime.path) where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            let numbers = name.dropFirst(prefix.count).dropLast(suffix.count).split(separator: "-")
            guard numbers.count == 2, let identifier = Int32(numbers[0]), let started = UInt64(numbers[1]) else { continue }
            let process = RunningProcess(processID: identifier, started: started)
            if !process.isRunning { PrivateCache(of: process, in: runtime).remove() }
        }
    }

    private static func names(in folder: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
