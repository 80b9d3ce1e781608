internal import CommandSupport
internal import Foundation

/// The removal of a file that `ksso` installed.
enum FileRemoval {
    /// Removes a file, or a symbolic link.
    static func remove(_ path: String) throws(CommandFailure) {
        guard unlink(path) == 0 else {
            throw CommandFailure(.failed, "\(path): the file cannot be removed: \(String(cString: strerror(errno))).")
        }
    }
}
