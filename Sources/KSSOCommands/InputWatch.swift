internal import Foundation

/// Sees that nobody holds the other end of standard input any more.
enum InputWatch {
    /// Has the process end in order then, as SIGTERM has it. What is read is thrown away.
    static func endProcessInOrderWithInput() {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
            }
            kill(getpid(), SIGTERM)
        }
    }
}
