package import Foundation

/// An output file that the user named.
package enum OutputFile {
    /// Opens the file as a shell's redirection does: an existing file, device or link is written to and keeps its mode.
    ///
    /// - Parameter mode: The mode of a file that does not exist yet, before the umask applies.
    package static func open(_ path: String, mode: mode_t = 0o666) throws -> FileHandle {
        let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw CommandFailure(.failed, "\(path): the file cannot be written (\(String(cString: strerror(errno)))).")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
