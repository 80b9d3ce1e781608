import Foundation

/// A child process that sees a folder of a test's own over the machine's `/etc`, in a mount namespace of its own.
enum MachineProfiles {
    /// Whether this machine lets a process have that. The profiles in `/etc/ksso` must belong to root.
    static let arePossible: Bool = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = command(over: "/var", ["true"])
        probe.standardError = FileHandle.nullDevice
        guard geteuid() == 0, (try? probe.run()) != nil else { return false }
        probe.waitUntilExit()
        return probe.terminationStatus == 0
    }()

    /// The command that runs another one so.
    static func command(over folder: String, _ command: [String]) -> [String] {
        ["unshare", "--mount", "sh", "-c", "mount -t overlay none -o \"lowerdir=$0:/etc\" /etc && exec \"$@\"", folder] + command
    }
}
