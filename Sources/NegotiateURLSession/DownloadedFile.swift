import Foundation
import Synchronization
import SystemSupport

/// A file for a response's body, created when it is needed.
final class DownloadedFile: Sendable {
    private struct State {
        var handle: FileHandle?
        /// Whether the file belongs to the caller or has been removed.
        var isClosed = false
    }

    private let url: URL
    private let state = Mutex(State())

    init(in directory: URL) {
        url = directory.appending(path: "NegotiateURLSession-\(UUID().uuidString)")
    }

    /// Appends a piece; has no effect after ``discard()`` or ``handOver()``.
    func append(_ piece: Data) throws {
        try state.withLock { state in
            guard !state.isClosed else { return }
            let handle = try state.handle ?? create()
            state.handle = handle
            try handle.write(contentsOf: piece)
        }
    }

    /// Closes the file and returns its URL to the caller, who owns it.
    func handOver() throws -> URL {
        try state.withLock { state in
            let handle = try state.handle ?? create()
            state = State(handle: handle, isClosed: true)
            try handle.close()
            return url
        }
    }

    /// Removes the file unless it was handed over. May block while a piece is being written.
    func discard() {
        state.withLock { state in
            guard !state.isClosed else { return }
            if state.handle != nil { try? FileManager.default.removeItem(at: url) }
            state = State(handle: nil, isClosed: true)
        }
    }

    private func create() throws -> FileHandle {
        // FileManager would set the permissions only after other users could have opened the file.
        let descriptor = unsafe open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let cause = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: cause])
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// The files for the responses of one call, including those of challenges and redirects.
final class CallFiles: Sendable {
    private let files = Mutex<[DownloadedFile]>([])
    private let directory: URL

    init(in directory: URL) {
        self.directory = directory
    }

    func makeFile() -> DownloadedFile {
        let file = DownloadedFile(in: directory)
        files.withLock { $0.append(file) }
        return file
    }

    /// Removes all files except one that was handed over, on a thread that may block for a file system, and returns when they are removed.
    func discard() async {
        let files = files.withLock { $0 }
        await BlockingCall.run {
            for file in files { file.discard() }
        }
    }
}
