internal import Foundation

/// The realm of `ksso realm run` that a process runs in.
package enum EnclosingRealm {
    /// The variable with the socket's path, for the command that runs in the realm.
    package static let controlVariable = "KSSO_REALM_CONTROL"

    /// Whether the caller runs in a realm of `ksso realm run`.
    package static func isInside(_ environment: [String: String]) -> Bool { environment[controlVariable]?.isEmpty == false }

    /// Throws inside a test realm, because the command would write the realm's temporary paths to the caller's home.
    package static func refuseInside(environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandFailure) {
        guard isInside(environment) else { return }
        let sentence =
            "this shell runs in a realm of ksso realm run, whose files are temporary, so your home is not configured for it. "
            + "ksso login works here; run this command outside the realm."
        throw CommandFailure(.failed, sentence)
    }
}
