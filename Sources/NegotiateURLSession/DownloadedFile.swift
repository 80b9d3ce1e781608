import Dispatch
import Foundation
import Synchronization

/// A file that a body is written to, made when it is needed.
final class DownloadedFile: Sendable {
    private struct State {
        var handle: FileHandle?
        /// It is the caller's, or gone.
        var isClosed = false
    }

    private let url: URL
    private let state = Mutex(State())

    init(in directory: URL) {
        url = directory.appending(path: "NegotiateURLSession-\(UUID().uuidString)")
    }

    /// Adds to it; to one that was discarded nothing.
    func append(_ piece: Data) throws {
        try state.withLock { state in
            guard !state.isClosed else { return }
            let handle = try state.handle ?? create()
            state.handle = handle
            try handle.write(contentsOf: piece)
        }
    }

    /// Closes it and gives it to the caller.
    func handOver() throws -> URL {
        try state.withLock { state in
            let handle = try state.handle ?? create()
            state = State(handle: handle, isClosed: true)
            try handle.close()
            return url
        }
    }

    /// Removes it, unless it was handed over. It may have to wait for what is being written.
    func discard() {
        state.withLock { state in
            guard !state.isClosed else { return }
            if state.handle != nil { try? FileManager.default.removeItem(at: url) }
            state = State(handle: nil, isClosed: true)
        }
    }

    private func create() throws -> FileHandle {
        // FileManager would give it its permissions only after others could open it.
        let descriptor = unsafe open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let cause = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: cause])
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// The files that the responses of one call are written to, those of challenges and redirects included.
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

    /// Removes all but what was handed over, and returns when it is gone. A file system may block, so that a thread of Dispatch does it.
    func discard() async {
        let files = files.withLock { $0 }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                for file in files { file.discard() }
                continuation.resume()
            }
        }
    }
}
