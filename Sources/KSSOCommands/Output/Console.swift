internal import Foundation
internal import HTTPNegotiate
internal import Kerberos

/// The two ends of the command: results on standard output, everything else on standard error.
enum Console {
    /// A line of the result.
    static func print(_ line: String) {
        write(Data("\(visible(line))\n".utf8), to: .standardOutput)
    }

    /// One line, whatever is in it: names, paths and texts come from others, and nothing in them may act on the terminal or pass for a line
    /// of ours.
    private static func visible(_ line: String) -> String {
        line.escapedForDisplay(limit: 1 << 20)
    }

    /// A text of several lines of our own.
    static func print(lines text: String) {
        write(Data("\(text.escapedForDisplay(keepingLines: true, limit: 1 << 20))\n".utf8), to: .standardOutput)
    }

    /// Shell commands that set variables. A shell gets the exact values; at a terminal they are made visible, as everything else is.
    static func printExports(_ variables: [(name: String, value: String)]) {
        for (name, value) in variables {
            let line = "export \(name)=\(shellQuoted(value))"
            if isatty(STDOUT_FILENO) == 1 { print(line) } else { write(Data("\(line)\n".utf8), to: .standardOutput) }
        }
    }

    /// Writes; ends the process as a broken pipe does when nobody reads any more.
    static func write(_ data: Data, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: data)
        } catch {
            // At once, as at every other end of a command: at an orderly exit libkrb5 destroys locks that a call may still hold.
            _exit(ExitStatus.brokenPipe.rawValue)
        }
    }

    /// A diagnostic: `ksso: …`.
    static func report(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("ksso: \(visible(line))\n".utf8))
    }

    /// A line beside the result that is no fault.
    static func note(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(visible(line))\n".utf8))
    }

    /// Whether somebody sits at a terminal and can be asked.
    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 && hasTerminal }

    /// Whether a terminal controls the process: the place for questions, wherever its output goes.
    static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// One JSON document, keys in a fixed order.
    static func printJSON(_ value: some Encodable) throws {
        try printJSON(value, formatting: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// One JSON document on one line, for a program that follows a stream of them.
    static func printJSONLine(_ value: some Encodable) throws {
        try printJSON(value, formatting: [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func printJSON(_ value: some Encodable, formatting: JSONEncoder.OutputFormatting) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        encoder.dateEncodingStrategy = .iso8601
        let document = String(decoding: try encoder.encode(value), as: UTF8.self).escapedAsJSONForDisplay()
        write(Data("\(document)\n".utf8), to: .standardOutput)
    }

    /// A time as a person reads it.
    static func text(_ date: Date) -> String { date.localText }
}

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

/// A word that a POSIX shell reads back as it is.
func shellQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
}
