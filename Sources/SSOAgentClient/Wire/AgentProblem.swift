internal import HTTPNegotiate

/// A failure as the agent tells it (`application/problem+json`, RFC 9457).
public struct AgentProblem: Error, Codable, Sendable, Hashable {
    /// What kind of failure it is, as a URN.
    public var type: String
    /// The kind in a few words.
    public var title: String
    /// The HTTP status.
    public var status: Int
    /// A sentence that says what failed and what to do.
    public var detail: String
    /// The stable name: that of an `AuthorizationError.Code` or a `KerberosError.Code`.
    public var code: String
    /// The name of what lies beneath, such as `wrongPassword`; nil where nothing does.
    public var cause: String?
    /// libkrb5's or GSSAPI's own text.
    public var libraryMessage: String?
    /// libkrb5's or GSSAPI's own code.
    public var libraryCode: Int32?

    package init(
        status: Int,
        title: String,
        code: String,
        detail: String,
        cause: String? = nil,
        libraryMessage: String? = nil,
        libraryCode: Int32? = nil
    ) {
        type = "urn:ksso:\(code)"
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code
        self.cause = cause
        self.libraryMessage = libraryMessage
        self.libraryCode = libraryCode
    }
}

extension AgentProblem: CustomStringConvertible {
    /// The sentence.
    public var description: String { detail }
}

extension AuthorizationError {
    /// The seam's error for what the agent tells; the problem is its cause.
    init(_ problem: AgentProblem) {
        self.init(Code(rawValue: problem.code), problem.detail, cause: problem)
    }
}
