internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The device and inode of the file at a path, so that another file at the same path is not mistaken for it.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    /// Unique only within its file system.
    package let inode: UInt64

    /// The file's name in the kernel's tables, such as /proc/locks: `fe:00:1048593`, device and inode.
    package var kernelName: String {
        // makedev(3): 12 bits of the major number, then 8 and 12 bits of the minor one.
        let major = device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000
        let minor = device & 0xFF | device >> 12 & 0xFFFF_FF00
        return [major, minor].map { $0 < 16 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined(separator: ":") + ":\(inode)"
    }

    /// The identity of the file at a path; nil if there is none.
    ///
    /// - Parameter followsLinks: Whether a symbolic link is resolved. Otherwise the identity is that of the link.
    package init?(path: String, followsLinks: Bool = false) {
        var status = stat()
        guard unsafe (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// The effective user ID of a process (/proc/PID/status, proc(5)); nil if it has exited.
    ///
    /// The owner of /proc/PID is not used, because it is root if the process does not allow core dumps.
    package static func owner(ofProcess process: Int32) -> UInt32? {
        guard let status = KernelFile.text("/proc/\(process)/status"),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Uid:") })
        else { return nil }
        let numbers = line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst()
        return numbers.dropFirst().first.flatMap { UInt32($0) }
    }

    /// Removes the file at a path if it is still this one (unlink(2), so never a directory).
    ///
    /// Linux cannot compare and remove in one step: in a directory that others may write to, another process can still win the race.
    ///
    /// - Returns: Whether it was removed.
    @discardableResult
    package func unlink(_ path: String) -> Bool {
        guard FileIdentity(path: path) == self else { return false }
        #if canImport(Glibc)
            return unsafe Glibc.unlink(path) == 0
        #elseif canImport(Musl)
            return unsafe Musl.unlink(path) == 0
        #else
            return unsafe Darwin.unlink(path) == 0
        #endif
    }
}
