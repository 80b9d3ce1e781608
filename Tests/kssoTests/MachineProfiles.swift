import Foundation
import TestSupport

/// A child process that sees a folder of a test's own over the machine's `/etc`, in a mount namespace of its own.
enum MachineProfiles {
    /// Whether this machine lets a process have that. The profiles in `/etc/ksso` must belong to root.
    static let arePossible: Bool = geteuid() == 0 && succeeds(command(over: "/var", ["true"]))

    /// The command that runs another one so.
    static func command(over folder: String, _ command: [String]) -> [String] {
        ["unshare", "--mount", "sh", "-c", "mount -t overlay none -o \"lowerdir=$0:/etc\" /etc && exec \"$@\"", folder] + command
    }
}
