/// The answer to `POST /v1/logout`.
public struct SignOutDocument: Codable, Sendable, Hashable {
    /// The principals that were signed out.
    public var ended: [String]
    /// The principals whose tickets another program acquired, and which were therefore left.
    public var left: [String]

    /// Makes a document.
    public init(ended: [String], left: [String]) {
        self.ended = ended
        self.left = left
    }
}
