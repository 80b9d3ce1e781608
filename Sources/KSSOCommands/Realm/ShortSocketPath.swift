internal import Foundation

/// A name of a socket that fits into a socket's address, which has 107 bytes, however deep the socket's folder is.
///
/// The folder is open while the name is in use; it is given up with this value.
struct ShortSocketPath: ~Copyable {
    private let folder: Int32
    let path: String

    /// Throws ``CommandFailure`` where there is no such folder.
    init(_ path: String) throws {
        let place = URL(fileURLWithPath: path)
        folder = open(place.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw CommandFailure(.failed, "\(path): \(String(cString: strerror(errno))).") }
        self.path = "/proc/self/fd/\(folder)/\(place.lastPathComponent)"
    }

    deinit { close(folder) }
}
