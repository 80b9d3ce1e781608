/// One key of a profile and what was made of it.
///
/// A list with faulty elements has a row for each of these instead of its own, with the element's path.
public struct ProfileReportRow: Sendable, Hashable, CustomStringConvertible {
    /// The key's name.
    public let key: String
    /// Where the key, or the faulty part of its value, stands in the file.
    public let path: ProfileKeyPath
    /// The payload's place in the file, counted from 0; nil for keys around the payloads.
    public let payloadIndex: Int?
    /// The value that was found, if one was.
    public let value: ProfileValue?
    /// What was made of it.
    public let verdict: KeyVerdict
    /// Whether this fault makes the whole file unusable, since the key is one that is acted on.
    public let rejectsFile: Bool

    init(key: String, path: ProfileKeyPath, payloadIndex: Int?, value: ProfileValue? = nil, verdict: KeyVerdict, isActedOn: Bool) {
        self.key = key
        self.path = path
        self.payloadIndex = payloadIndex
        self.value = value
        self.verdict = verdict
        rejectsFile = isActedOn && verdict.isError
    }

    /// Path and verdict on one line.
    public var description: String { "\(path): \(verdict)" }
}
