/// A remark on a profile that is about more than the form of one value.
public struct ProfileAdvice: Sendable, Hashable, CustomStringConvertible {
    /// How grave it is.
    public enum Severity: String, Sendable, Hashable {
        /// The file cannot be used as it is.
        case error
        /// It will probably not do what is meant.
        case warning
        /// Something to think about.
        case advice
    }

    /// How grave it is.
    public let severity: Severity
    /// Where in the file.
    public let path: ProfileKeyPath
    /// The payload's place in the file, counted from 0.
    public let payloadIndex: Int?
    /// A sentence that says what stands there and what to do.
    public let sentence: String

    init(_ severity: Severity, path: ProfileKeyPath, payloadIndex: Int?, _ sentence: String) {
        self.severity = severity
        self.path = path
        self.payloadIndex = payloadIndex
        self.sentence = sentence
    }

    /// Path and sentence on one line.
    public var description: String { path.isEmpty ? sentence : "\(path): \(sentence)" }
}
