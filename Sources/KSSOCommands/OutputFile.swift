internal import Foundation

/// A file that a command writes because it was told to.
enum OutputFile {
    /// Opens it as a shell's redirection does, into what is there: a device, a link, a file that others may not read.
    ///
    /// - Parameter mode: of a file that is not there yet, before the umask.
    static func open(_ path: String, mode: mode_t = 0o666) throws -> FileHandle {
        let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw CommandFailure(.failed, "\(path): the file can't be written (\(String(cString: strerror(errno)))).")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
