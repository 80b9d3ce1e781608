import Foundation
import TestSupport

/// A child process in its own mount namespace, where a folder of the test overlays the machine's `/etc`.
enum MachineProfiles {
    /// Whether this process can create such a namespace. It must be root, because root must own the profiles in `/etc/ksso`.
    static let arePossible: Bool = geteuid() == 0 && succeeds(command(over: "/var", ["true"]))

    /// The command that runs another one in such a namespace.
    static func command(over folder: String, _ command: [String]) -> [String] {
        ["unshare", "--mount", "sh", "-c", "mount -t overlay none -o \"lowerdir=$0:/etc\" /etc && exec \"$@\"", folder] + command
    }
}
