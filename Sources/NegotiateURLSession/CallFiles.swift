import Dispatch
import Synchronization

import struct Foundation.URL

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
