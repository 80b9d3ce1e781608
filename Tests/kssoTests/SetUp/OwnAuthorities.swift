import Foundation
import KerberosTesting
import TestSupport

/// A child process that trusts one certificate of a test and no other authority.
///
/// Because `ksso` trusts the machine's authorities, the file with them is replaced in a mount namespace of the child's own.
enum OwnAuthorities {
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"
    private static let namespace = ["unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount"]

    /// Whether this process can create such a namespace.
    static let arePossible: Bool = succeeds(namespace + ["mount", "--bind", "/dev/null", bundle])

    /// The command that runs another one in such a namespace.
    static func command(trusting certificatePath: String, _ command: [String]) -> [String] {
        namespace + ["sh", "-c", "mount --bind \"$0\" \(bundle) && exec \"$@\"", certificatePath] + command
    }
}
