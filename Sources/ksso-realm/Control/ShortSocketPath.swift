internal import CommandSupport
internal import Foundation

/// A path for a socket that fits into a socket address (107 bytes), however long the path of the socket's folder is.
///
/// The folder is open while the path is in use; releasing this value closes it.
struct ShortSocketPath: ~Copyable {
    private let folder: Int32
    let path: String

    /// Throws ``CommandFailure`` if the folder does not exist.
    init(_ path: String) throws {
        let place = URL(fileURLWithPath: path)
        folder = open(place.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw CommandFailure(.failed, "\(path): \(String(cString: strerror(errno))).") }
        self.path = "/proc/self/fd/\(folder)/\(place.lastPathComponent)"
    }

    deinit { close(folder) }
}
