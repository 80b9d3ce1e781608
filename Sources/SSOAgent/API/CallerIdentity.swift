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
        // By bytes: a carriage return before the end of a line would join it with the next one.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")).map(Substring.init) {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "0" || parts[1] == "name=systemd" else { continue }
            if let unit = parts[2].split(separator: "/").last(where: { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }) {
                return String(unit)
            }
        }
        return nil
    }
}
