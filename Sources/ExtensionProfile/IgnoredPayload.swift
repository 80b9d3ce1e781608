/// A payload of a profile that is for somebody else.
public struct IgnoredPayload: Sendable, Hashable, CustomStringConvertible {
    /// The payload's place in the file, counted from 0.
    public let payloadIndex: Int
    /// Where it stands.
    public let path: ProfileKeyPath
    /// Its `PayloadType`, if it has one.
    public let type: String?
    /// A clause that says why it is not for the Kerberos extension.
    public let reason: String

    /// Path and reason on one line.
    public var description: String { "\(path): ignored: \(reason)" }
}
