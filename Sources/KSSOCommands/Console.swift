internal import Foundation
internal import Kerberos

/// The two ends of the command: results on standard output, everything else on standard error.
enum Console {
    /// A line of the result.
    static func print(_ text: String) {
        write(Data("\(visible(text))\n".utf8), to: .standardOutput)
    }

    /// Names and texts come from others: nothing in them may act on the terminal.
    private static func visible(_ text: String) -> String {
        text.escapedForDisplay(keepingLines: true, limit: 1 << 20)
    }

    /// Writes; ends the process as a broken pipe does when nobody reads any more.
    static func write(_ data: Data, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: data)
        } catch {
            exit(ExitStatus.brokenPipe.rawValue)
        }
    }

    /// A diagnostic: `ksso: …`.
    static func report(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("ksso: \(visible(text))\n".utf8))
    }

    /// A line beside the result that is no fault.
    static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(visible(text))\n".utf8))
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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// One JSON document on one line, for who follows a stream of them.
    static func printJSONLine(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// A time as a person reads it, in the machine's zone.
    static func text(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        return formatter.string(from: date)
    }
}
