internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// A question about changes to files, to which the user answers yes or no.
enum TerminalQuestion {
    /// Asks at the controlling terminal, because standard input and output may be redirected. The end of input means no.
    static func agrees(to question: String) -> Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        let handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        // What was typed before the question is no answer to it.
        tcflush(terminal, TCIFLUSH)
        guard (try? handle.write(contentsOf: Data(question.escapedForDisplay(keepingLines: true, limit: 1 << 20).utf8))) != nil else {
            return false
        }
        // A terminal delivers whole lines. FileHandle would wait for more bytes than one line.
        var line = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(terminal, &line, line.count)
        guard count > 0 else {
            try? handle.write(contentsOf: Data("\n".utf8))
            return false
        }
        return ["", "y", "yes"].contains(
            String(decoding: line.prefix(count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        )
    }
}
