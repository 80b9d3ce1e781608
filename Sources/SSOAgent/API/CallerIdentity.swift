internal import Foundation
internal import SystemSupport

/// The executable and the systemd unit of a running process, as reported by the kernel.
///
/// The values describe the process that has the ID now: the original process may have exited and its ID been reused, or it may have
/// executed another program.
struct CallerIdentity: Sendable, Hashable {
    /// The path of the executable; nil if it cannot be read or was replaced while the process ran.
    var executable: String?
    /// The path of an executable that was replaced while the process ran. It suffices to deny the process, but not to permit it.
    var replacedExecutable: String?
    /// The innermost systemd unit of the process, such as `nginx.service`.
    var unit: String?

    init(executable: String? = nil, replacedExecutable: String? = nil, unit: String? = nil) {
        self.executable = executable
        self.replacedExecutable = replacedExecutable
        self.unit = unit
    }

    /// Reads `/proc` (proc(5)), which the kernel provides without blocking.
    init(processID: Int32) {
        executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
        if let path = executable, path.hasSuffix(Self.deletedMark) {
            (executable, replacedExecutable) = (nil, String(path.dropLast(Self.deletedMark.count)))
        }
        unit = KernelFile.text("/proc/\(processID)/cgroup").flatMap { Self.unit(inControlGroups: $0) }
    }

    private static let deletedMark = " (deleted)"

    /// Returns the unit named by the control group that systemd assigned to the process (cgroups(7)).
    static func unit(inControlGroups text: String) -> String? {
        // By bytes: a combining character joins a separator, and a carriage return the end of a line, to one `Character`.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].elementsEqual("0".utf8) || parts[1].elementsEqual("name=systemd".utf8) else { continue }
            let unit = parts[2].split(separator: UInt8(ascii: "/")).last { part in
                [".service", ".scope"].contains { part.suffix($0.utf8.count).elementsEqual($0.utf8) }
            }
            if let unit { return String(Substring(unit)) }
        }
        return nil
    }
}
