internal import Foundation
internal import SystemSupport

/// The name of this program for files that outlive the process.
enum OwnProgram {
    /// The default PATH of systemd and login shells.
    private static let standardFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    /// Returns `ksso` if the default PATH finds this program by that name; otherwise an absolute path for it.
    ///
    /// Symbolic links are not resolved, because a link's target may have a version in its name and disappear with the next version.
    static func name(arguments: [String], environment: [String: String]) -> String {
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        if let first = standardFolders.lazy.map({ "\($0)/ksso" }).first(where: isExecutable), isSelf(first) { return "ksso" }
        let called = arguments.first.flatMap { $0.contains("/") ? URL(fileURLWithPath: $0).standardized.path : nil }
        let candidates = folders.map { "\($0)/ksso" } + (called.map { [$0] } ?? [])
        if let path = candidates.first(where: isSelf) { return path }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "ksso"
    }

    /// The path of this program, for executing or spawning it. It is not `/proc/self/exe`, because the kernel would name the process `exe`,
    /// unless the file was removed or replaced.
    static var executable: String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link), isSelf(path) else { return link }
        return path
    }

    /// The path of another program in the folder of this one. If this program's file was removed, that is its former folder.
    static func sibling(_ name: String) -> String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: path).deletingLastPathComponent().appending(path: name).path
    }

    /// Returns whether a path can be executed.
    static func isExecutable(_ path: String) -> Bool { access(path, X_OK) == 0 }

    private static func isSelf(_ path: String) -> Bool {
        guard let own = FileIdentity(path: "/proc/self/exe", followsLinks: true) else { return false }
        return FileIdentity(path: path, followsLinks: true) == own && isExecutable(path)
    }
}
