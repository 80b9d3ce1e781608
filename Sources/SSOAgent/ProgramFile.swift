internal import Foundation
internal import UnixSystem

/// The file that this process was started from, so that a running agent notices that an upgrade has put another one in its place.
package struct ProgramFile: Sendable {
    /// Where the file was when the process started.
    package let path: String
    private let started: FileIdentity
    private var candidate: FileIdentity?

    /// The file of this process; nil if /proc does not say, or the file has been replaced already.
    package init?() {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link), let file = FileIdentity(path: path),
            file == FileIdentity(path: link, followsLinks: true)
        else { return nil }
        self.path = path
        started = file
    }

    /// Looks at the file. A replacement counts if it is the same at two looks: a program that is being copied is not complete.
    ///
    /// - Returns: Whether another program is in its place.
    package mutating func wasReplaced() -> Bool {
        guard let file = FileIdentity(path: path), file != started, unsafe access(path, X_OK) == 0 else {
            candidate = nil
            return false
        }
        defer { candidate = file }
        return candidate == file
    }
}
