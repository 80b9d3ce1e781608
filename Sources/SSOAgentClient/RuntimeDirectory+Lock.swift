internal import Foundation
package import UnixSystem

extension RuntimeDirectory {
    /// The file that an agent locks (flock(2)) for as long as it lives.
    package var lockFile: String { path + "/agent.lock" }

    /// The agent that holds the lock of this folder, by the kernel's table (/proc/locks, proc(5)); nil if none does, or it is in another PID
    /// namespace, or others can write to the folder. It never waits.
    ///
    /// An agent whose sockets were removed is found by its lock alone.
    package var lockHolder: AgentListener? {
        guard PrivateDirectory(path: path).isTrusted, let lock = FileIdentity(path: lockFile),
            let table = FileManager.default.contents(atPath: "/proc/locks")
        else { return nil }
        return Self.lockHolders(of: lock, in: String(decoding: table, as: UTF8.self)).lazy.map(AgentListener.init).first {
            // A lock of another user's says nothing of this folder, which only its owner may enter.
            $0.isAgent && FileIdentity.owner(ofProcess: $0.processID) == geteuid()
        }
    }

    /// Whether an agent runs here, though its sockets may be lost.
    package var hasAgent: Bool { servesRequests || lockHolder != nil }

    /// The processes that hold a lock of a file, by the text of /proc/locks.
    ///
    /// An inode's number is unique in its own file system only. Some file systems (btrfs, overlayfs) show another device there than stat(2)
    /// does: if no line has the device, those with the inode count.
    package static func lockHolders(of file: FileIdentity, in table: String) -> [Int32] {
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
