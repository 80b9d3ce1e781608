/// The parts of all challenges of a message: its field lines read as one list (RFC 9110 section 5.3).
struct ChallengeParts: Sequence, IteratorProtocol {
    private var lines: ArraySlice<String>
    private var scanner = ChallengeScanner("".utf8)

    /// - Parameter fieldValues: The values of the lines, in their order.
    init(_ fieldValues: [String]) { lines = fieldValues[...] }

    mutating func next() -> ChallengeScanner<String.UTF8View>.Part? {
        while true {
            if let part = scanner.next() { return part }
            guard let line = lines.popFirst() else { return nil }
            scanner.take(ChallengeParts.unfolded(line).utf8)
        }
    }

    /// The line with spaces for old folds (RFC 9112 section 5.2) and for other line breaks and NULs (RFC 9110 section 5.5).
    ///
    /// Hardly a line has any, and then nothing is copied.
    private static func unfolded(_ line: String) -> String {
        guard line.utf8.contains(where: \.isBreak) else { return line }
        var bytes = Array(line.utf8)
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { !$0.isBreak && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
            // A fold is a break and all white space around it, tabs too.
            if bytes[start..<end].contains(where: \.isBreak) {
                for index in start..<end { bytes[index] = UInt8(ascii: " ") }
            }
            start = end + 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isBreak: Bool { self == UInt8(ascii: "\r") || self == UInt8(ascii: "\n") || self == 0 }
}
