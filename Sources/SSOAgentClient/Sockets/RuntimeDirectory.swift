internal import Foundation
internal import SystemSupport

/// The directory of the user's sockets and additional caches: `$KSSO_RUNTIME_DIR`, or else `$XDG_RUNTIME_DIR/ksso`, or else
/// `/run/user/UID/ksso`, or else a private folder in `/tmp`.
package struct RuntimeDirectory: Sendable, Hashable {
    /// The path of the directory, which may not exist yet.
    package let path: String

    /// The socket of the agent's API.
    package var apiSocket: String { path + "/agent.sock" }
    /// The socket of the agent's credential caches.
    package var kcmSocket: String { path + "/kcm.sock" }
    /// The krb5.conf for the programs that share an agent's tickets; the agent updates it when the profiles change.
    package var sessionConfiguration: String { path + "/krb5.conf" }

    /// Uses a known path.
    package init(path: String) { self.path = path }

    /// Chooses the directory; relative paths in the variables are ignored.
    package init(environment: [String: String]) {
        let user = geteuid()
        if let named = environment["KSSO_RUNTIME_DIR"], named.hasPrefix("/") {
            path = named
        } else if let base = environment["XDG_RUNTIME_DIR"], base.hasPrefix("/") {
            path = "\(base)/ksso"
        } else if FileManager.default.isWritableFile(atPath: "/run/user/\(user)") {
            path = "/run/user/\(user)/ksso"
        } else {
            path = "/tmp/ksso-\(user)"
        }
    }

    /// Returns the files of `KRB5_CONFIG`, or else the system's krb5.conf, without those in this directory, so that a nested `ksso exec`,
    /// or one inside an agent's session, does not list them twice.
    package static func systemConfigurationFiles(environment: [String: String]) -> [String] {
        guard let list = environment["KRB5_CONFIG"] else { return ["/etc/krb5.conf"] }
        let runtime = RuntimeDirectory(environment: environment).path
        return list.split(separator: ":").map(String.init).filter { !$0.hasPrefix("\(runtime)/krb5") }
    }
}

extension RuntimeDirectory {
    /// Whether an agent, or a service manager that starts one on demand, serves the credential caches here: a process of this user or root
    /// listens at ``kcmSocket``. It takes some microseconds and never blocks.
    package var servesCaches: Bool { Self.isServed(kcmSocket) }

    /// Whether an agent serves requests here, in any mode; like ``servesCaches``, for ``apiSocket``.
    package var servesRequests: Bool { Self.isServed(apiSocket) }

    private static func isServed(_ path: String) -> Bool {
        switch UnixSocketAddress(path: path)?.listener() {
        case .accepting(let peer): peer.userID == geteuid() || peer.userID == 0
        // A listener that is too busy to accept the connection at once still counts.
        case .busy: true
        case .forbidden, .absent, nil: false
        }
    }
}

/// Tickets on disk of an agent that is not running: programs do not find them until it runs again.
package struct KeptTickets {
    /// The directory with the tickets.
    package let path: String

    /// For the end of a command that fails for that reason.
    package var sentence: String { "the agent \(facts)" }

    /// A line of its own.
    package var note: String { "The agent \(facts)" }

    private var facts: String {
        "is not running, and has tickets in \(path). To use or destroy them, first run: ksso agent run --background"
    }
}

extension RuntimeDirectory {
    /// The tickets of an agent that is not running; nil if there are none, or if an agent runs.
    package var keptTickets: KeptTickets? {
        guard !hasAgent else { return nil }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/tickets/\(geteuid())")) ?? []
        guard names.contains(where: { $0.hasSuffix(".ccache") }) else { return nil }
        return KeptTickets(path: "\(path)/tickets")
    }
}
