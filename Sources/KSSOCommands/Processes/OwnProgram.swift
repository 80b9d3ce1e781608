internal import Foundation

/// How files that outlive this process call its program.
enum OwnProgram {
    /// Where systemd and login shells look when nobody has said otherwise.
    private static let standardFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    /// `ksso` where that leads here from everywhere; else the path, by which the user called it, from the root on.
    ///
    /// A link stays as it is: what it leads to may have its version in its name, and goes with the next one.
    static func name(arguments: [String], environment: [String: String]) -> String {
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        if let first = standardFolders.lazy.map({ "\($0)/ksso" }).first(where: isExecutable), isSelf(first) { return "ksso" }
        let called = arguments.first.flatMap { $0.contains("/") ? URL(fileURLWithPath: $0).standardized.path : nil }
        let candidates = folders.map { "\($0)/ksso" } + (called.map { [$0] } ?? [])
        if let path = candidates.first(where: isSelf) { return path }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "ksso"
    }

    /// The file of this program, for a process that takes this one's place or runs alongside it. The kernel names a process after the file
    /// that it was started from: started from `/proc/self/exe` it would be called `exe`. That is left for a file that was removed or
    /// replaced.
    static var executable: String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link), isSelf(path) else { return link }
        return path
    }

    /// Whether a name that a file has can still be run.
    static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 }

    private static func isSelf(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        guard stat("/proc/self/exe", &own) == 0, stat(path, &other) == 0 else { return false }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino && isExecutable(path)
    }
}
