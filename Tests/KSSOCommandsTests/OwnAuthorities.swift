import Foundation
import KerberosTesting

/// A child process that trusts one certificate of a test's and no other: `ksso` trusts what the machine does.
///
/// The machine's file of authorities is covered in a mount namespace of the child's own.
enum OwnAuthorities {
    private static let bundle = "/etc/ssl/certs/ca-certificates.crt"
    private static let namespace = ["unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount"]

    /// Whether this machine lets a process have such a namespace.
    static let arePossible: Bool = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = namespace + ["mount", "--bind", "/dev/null", bundle]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    /// The command that runs another one so.
    static func command(trusting certificatePath: String, _ command: [String]) -> [String] {
        namespace + ["sh", "-c", "mount --bind \"$0\" \(bundle) && exec \"$@\"", certificatePath] + command
    }
}
