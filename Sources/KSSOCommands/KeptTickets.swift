internal import Foundation
internal import KerberosEngine
internal import SSOAgentClient
internal import UnixSystem

/// Tickets on disk of an agent that does not run: programs do not find them until it runs again.
struct KeptTickets {
    /// The folder.
    let path: String

    /// For the end of a command that fails for that reason.
    var sentence: String { "the agent \(facts)" }

    /// A line of its own.
    var note: String { "The agent \(facts)" }

    private var facts: String { "does not run, and keeps tickets in \(path). To use or end them: ksso agent run --background" }
}

extension RuntimeDirectory {
    /// The tickets that an agent which does not run keeps here; nil if there are none.
    var keptTickets: KeptTickets? {
        guard !hasAgent else { return nil }
        let folder = "\(path)/tickets/\(geteuid())"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard names.contains(where: { $0.hasSuffix(".ccache") }) else { return nil }
        return KeptTickets(path: "\(path)/tickets")
    }

    /// Removes the krb5.conf of an agent that was killed: it would send every program to a socket where nobody listens. An agent that lives
    /// listens before it writes that file.
    func removeAbandonedConfiguration() {
        guard PrivateDirectory(path: path).isTrusted, !hasAgent else { return }
        try? FileManager.default.removeItem(atPath: sessionConfiguration)
    }
}
