internal import Foundation

/// Sees that nobody reads standard output any more before there is something to write.
enum ReaderWatch {
    /// Ends the process then, as a broken pipe does. A file never breaks.
    static func endProcessWithReader() {
        Thread.detachNewThread {
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&output, 1, -1) < 0, errno == EINTR {}
            _exit(ExitStatus.brokenPipe.rawValue)
        }
    }
}
