internal import Foundation
internal import SSOAgentClient
internal import UnixSystem

/// Keeps a second agent out of a runtime folder for as long as the first one lives, however it ends (flock(2)).
struct AgentLock: ~Copyable {
    private let descriptor: Int32

    private static func path(_ directory: String) -> String { directory + "/agent.lock" }

    /// - Throws: ``AgentError``: ``AgentError/Code/alreadyRunning``, or ``AgentError/Code/directoryUnusable``.
    init(directory: String) throws(AgentError) {
        let path = Self.path(directory)
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw AgentError(.directoryUnusable, "\(path): the file can't be made: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw AgentError(.alreadyRunning, "an agent runs already in \(directory). See: ksso agent status")
        }
    }

    deinit { close(descriptor) }

    /// The agent that holds the lock of a folder, by the kernel's table (/proc/locks, proc(5)); nil if none does, or it is in another PID
    /// namespace.
    static func holder(of directory: String) -> AgentListener? {
        guard let lock = FileIdentity(path: path(directory)), let table = FileManager.default.contents(atPath: "/proc/locks") else {
            return nil
        }
        return holders(of: lock, in: String(decoding: table, as: UTF8.self)).lazy.map(AgentListener.init).first {
            // A lock of another user's says nothing of this folder, which only its owner may enter.
            $0.isAgent && FileIdentity.owner(ofProcess: $0.processID) == geteuid()
        }
    }

    /// The processes that hold a lock of a file, by the text of /proc/locks.
    ///
    /// An inode's number is unique in its own file system only. Some file systems (btrfs, overlayfs) show another device there than stat(2)
    /// does: if no line has the device, those with the inode count.
    static func holders(of file: FileIdentity, in table: String) -> [Int32] {
        var exact: [Int32] = []
        var similar: [Int32] = []
        for line in table.split(separator: "\n") {
            // “1: FLOCK ADVISORY WRITE 2035 fe:00:1048593 0 EOF”: the process, the device, the inode.
            let fields = line.split(separator: " ")
            guard fields.count > 5, fields[1] == "FLOCK", let process = Int32(fields[4]), process > 0 else { continue }
            if fields[5] == file.kernelName { exact.append(process) }
            if fields[5].hasSuffix(":\(file.inode)") { similar.append(process) }
        }
        return exact.isEmpty ? similar : exact
    }
}
