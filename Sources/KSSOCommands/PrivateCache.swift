internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import UnixSystem

/// A FILE cache of one process's own, for a program that reads no other kind: the ticket-granting tickets of the session that answers.
///
/// It is named after the process that it is for, so that whoever comes later knows whether that one lives.
struct PrivateCache {
    /// The process, which may become another program, and is still the same.
    let process: RunningProcess
    /// The file.
    let path: String

    init(of process: RunningProcess, in runtime: RuntimeDirectory) {
        self.process = process
        path = "\(runtime.path)/\(Self.prefix)\(process.processID)-\(process.started)\(Self.suffix)"
    }

    private static let prefix = "exec-"
    private static let suffix = ".ccache"

    /// What was copied last.
    struct Copied {
        let principal: Principal
        let tickets: [Credential]

        func isIdentical(to other: Copied) -> Bool {
            principal == other.principal && tickets.elementsEqual(other.tickets) { $0.isIdentical(to: $1) }
        }
    }

    /// Copies the tickets of the session that answers, unless they were copied before; removes the file where nobody is signed in.
    func update(from sso: SingleSignOn, last: Copied?) async throws -> Copied? {
        let realm = try await sso.kerberos.defaultRealm()
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
            clockOffset: contents.clockOffset
        )
        return copied
    }

    /// Removes the file, and what a copy that was broken off left of it.
    func remove() {
        unlink(path)
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().path
        for name in Self.names(in: folder) where name.hasPrefix(".\(file.lastPathComponent).") { unlink("\(folder)/\(name)") }
    }

    /// Removes the caches of processes that are no more, whose keeper was killed.
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
