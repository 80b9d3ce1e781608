internal import Foundation

/// What the kernel says of a running process: its program and its systemd unit.
///
/// A process may have ended, and its number may be another's, or it may have become another program: what is read is so now.
struct CallerIdentity: Sendable, Hashable {
    /// The program's file; nil where it can't be seen, or was replaced while it ran.
    var executable: String?
    /// The file that it was started from, where that was replaced while it ran: enough to deny it, and not to permit it.
    var replacedExecutable: String?
    /// The innermost systemd unit that it runs in, such as `nginx.service`.
    var unit: String?

    init(executable: String? = nil, replacedExecutable: String? = nil, unit: String? = nil) {
        self.executable = executable
        self.replacedExecutable = replacedExecutable
        self.unit = unit
    }

    /// Reads `/proc` (proc(5)); these files are the kernel's own, and reading them waits for nothing.
    init(processID: Int32) {
        executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
        if let path = executable, path.hasSuffix(Self.deletedMark) {
            (executable, replacedExecutable) = (nil, String(path.dropLast(Self.deletedMark.count)))
        }
        unit = (try? String(contentsOfFile: "/proc/\(processID)/cgroup", encoding: .utf8)).flatMap { Self.unit(inControlGroups: $0) }
    }

    private static let deletedMark = " (deleted)"

    /// The unit by the control group that systemd put the process into (cgroups(7)).
    static func unit(inControlGroups text: String) -> String? {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "0" || parts[1] == "name=systemd" else { continue }
            if let unit = parts[2].split(separator: "/").last(where: { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }) {
                return String(unit)
            }
        }
        return nil
    }
}
