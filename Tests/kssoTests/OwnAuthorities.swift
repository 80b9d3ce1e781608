import Foundation
import KerberosTesting
import TestSupport

/// A child process that trusts one certificate of a test's and no other: `ksso` trusts what the machine does.
///
/// The machine's file of authorities is covered in a mount namespace of the child's own.
enum OwnAuthorities {
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"
    private static let namespace = ["unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount"]

    /// Whether this machine lets a process have such a namespace.
    static let arePossible: Bool = succeeds(namespace + ["mount", "--bind", "/dev/null", bundle])

    /// The command that runs another one so.
    static func command(trusting certificatePath: String, _ command: [String]) -> [String] {
        namespace + ["sh", "-c", "mount --bind \"$0\" \(bundle) && exec \"$@\"", certificatePath] + command
    }
}
