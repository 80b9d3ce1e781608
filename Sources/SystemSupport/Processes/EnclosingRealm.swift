/// The realm of `ksso realm run` that a process runs in.
package enum EnclosingRealm {
    /// The variable with the socket's path, for the command that runs in the realm.
    package static let controlVariable = "KSSO_REALM_CONTROL"

    /// The variable with the certificate of the realm's first web server. With several servers, each has one with `_` and a suffix.
    package static let certificateVariable = "KSSO_REALM_CERTIFICATE"

    /// Whether the caller runs in a realm of `ksso realm run`.
    package static func isInside(_ environment: [String: String]) -> Bool { environment[controlVariable]?.isEmpty == false }
}
