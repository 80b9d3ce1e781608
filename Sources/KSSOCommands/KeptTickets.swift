internal import Foundation
internal import KerberosEngine
internal import SSOAgentClient
internal import UnixSystem

extension RuntimeDirectory {
    /// What to say of tickets that an agent which does not run keeps on disk; nil where there are none.
    var keptTickets: String? {
        guard !hasAgent else { return nil }
        let folder = "\(path)/tickets/\(geteuid())"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard names.contains(where: { $0.hasSuffix(".ccache") }) else { return nil }
        return "the agent does not run, and keeps tickets in \(path)/tickets. To use or end them: ksso agent run --background"
    }

    /// Removes the krb5.conf of an agent that was killed: it would send every program to a socket where nobody listens. An agent that lives
    /// listens before it writes that file.
    func removeAbandonedConfiguration() {
        guard PrivateDirectory(path: path).isTrusted, !hasAgent else { return }
        try? FileManager.default.removeItem(atPath: sessionConfiguration)
    }
}
