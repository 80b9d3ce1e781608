internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// A question about changes to files, to which the user answers yes or no.
enum TerminalQuestion {
    /// Asks at the controlling terminal, because standard input and output may be redirected. The end of input means no. After an answer
    /// that is neither yes nor no, only these are asked for.
    static func agrees(to question: String) -> Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        let handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        var text = question
        while true {
            switch answer(to: text, at: handle) {
            case "", "y", "yes": return true
            case nil, "n", "no": return false
            default: text = "Answer y or n: "
            }
        }
    }

    /// The next line without its spaces, in lower case; nil at the end of input.
    private static func answer(to question: String, at handle: FileHandle) -> String? {
        // What was typed before the question is no answer to it.
        tcflush(handle.fileDescriptor, TCIFLUSH)
        guard (try? handle.write(contentsOf: Data(question.escapedForDisplay(keepingLines: true, limit: 1 << 20).utf8))) != nil else {
            return nil
        }
        // A terminal delivers whole lines. FileHandle would wait for more bytes than one line.
        var line = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(handle.fileDescriptor, &line, line.count)
        guard count > 0 else {
            try? handle.write(contentsOf: Data("\n".utf8))
            return nil
        }
        return String(decoding: line.prefix(count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
    }
}
