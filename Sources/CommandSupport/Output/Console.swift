package import Foundation
internal import Kerberos
internal import SystemSupport

/// The output of a command: results go to standard output, everything else to standard error.
package enum Console {
    /// Prints a line of the result.
    package static func print(_ line: String) {
        write(Data("\(visible(line))\n".utf8), to: .standardOutput)
    }

    /// A color of the terminal's palette, by its code.
    package enum Color: Int, Sendable {
        case red = 31
        case green = 32
        case yellow = 33
    }

    /// Whether standard output is a terminal with colors, and the user permits them (https://no-color.org).
    private static let usesColor: Bool = {
        let environment = ProcessInfo.processInfo.environment
        guard isatty(STDOUT_FILENO) == 1, environment["NO_COLOR"]?.isEmpty ?? true else { return false }
        return !["", "dumb"].contains(environment["TERM"] ?? "")
    }()

    /// Prints a line of the result, at a terminal with the first occurrence of a text in color.
    package static func print(_ line: String, highlighting text: String, in color: Color?) {
        let line = visible(line)
        guard usesColor, let color, let range = line.range(of: text) else { return print(line) }
        let colored = line.replacingCharacters(in: range, with: "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m")
        write(Data("\(colored)\n".utf8), to: .standardOutput)
    }

    /// Escapes a line, because names, paths and texts from other sources must neither control the terminal nor look like a separate line.
    private static func visible(_ line: String) -> String {
        line.escapedForDisplay(limit: 1 << 20)
    }

    /// Prints a text of several lines that this program created.
    package static func print(lines text: String) {
        write(Data("\(text.escapedForDisplay(keepingLines: true, limit: 1 << 20))\n".utf8), to: .standardOutput)
    }

    /// Prints shell commands that export variables. A shell gets the exact values; for a terminal, control characters are escaped.
    package static func printExports(_ variables: [(name: String, value: String)], for shell: ShellSyntax = .posix) {
        for (name, value) in variables {
            let line = shell.export(name, value)
            if isatty(STDOUT_FILENO) == 1 { print(line) } else { write(Data("\(line)\n".utf8), to: .standardOutput) }
        }
    }

    /// Writes data. Exits as for a broken pipe if the reader has closed the output, and reports any other failure, such as a full disk.
    package static func write(_ data: Data, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: data)
        } catch {
            let code = systemCode(of: error)
            if code != EPIPE { report("the output cannot be written\(reason(of: error)).") }
            // Exits without cleanup, as at every end of a command, because libkrb5's cleanup destroys locks that a call may still hold.
            _exit((code == EPIPE ? ExitStatus.brokenPipe : .failed).rawValue)
        }
    }

    /// The system's reason for an error of Foundation, in parentheses after a space; empty if there is none.
    package static func reason(of error: any Error) -> String {
        systemCode(of: error).map { " (\(String(cString: strerror($0))))" } ?? ""
    }

    private static func systemCode(of error: any Error) -> Int32? {
        guard let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error else { return nil }
        let cause = underlying as NSError
        return cause.domain == NSPOSIXErrorDomain ? Int32(cause.code) : nil
    }

    /// Prints a diagnostic: `ksso: …`.
    package static func report(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("ksso: \(visible(line))\n".utf8))
    }

    /// Prints a line that is neither a result nor a failure.
    package static func note(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(visible(line))\n".utf8))
    }

    /// Whether a user at a terminal can be prompted.
    package static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 && hasTerminal }

    /// Whether the process has a controlling terminal, which can be used for prompts even if the output is redirected.
    package static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Prints a JSON document with its keys in a fixed order.
    package static func printJSON(_ value: some Encodable) throws {
        try printJSON(value, formatting: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// Prints a JSON document on one line, for programs that read a stream of documents.
    package static func printJSONLine(_ value: some Encodable) throws {
        try printJSON(value, formatting: [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func printJSON(_ value: some Encodable, formatting: JSONEncoder.OutputFormatting) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        encoder.dateEncodingStrategy = .iso8601
        let document = String(decoding: try encoder.encode(value), as: UTF8.self).escapedAsJSONForDisplay()
        write(Data("\(document)\n".utf8), to: .standardOutput)
    }
}

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
