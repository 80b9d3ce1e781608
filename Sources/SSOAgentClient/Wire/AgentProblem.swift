internal import SignOnPolicy

/// A failure reported by the agent (`application/problem+json`, RFC 9457).
public struct AgentProblem: Error, Codable, Sendable, Hashable {
    /// The type of the failure, as a URN.
    public var type: String
    /// The type in a few words.
    public var title: String
    /// The HTTP status.
    public var status: Int
    /// A sentence that says what failed and what to do.
    public var detail: String
    /// A stable name, such as that of an `AuthorizationError.Code` or a `KerberosError.Code`.
    public var code: String
    /// The code of the underlying error, such as `wrongPassword`; nil if there is none.
    public var cause: String?
    /// The message of libkrb5 or GSSAPI.
    public var libraryMessage: String?
    /// The error code of libkrb5 or GSSAPI.
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
    /// The sentence in ``detail``.
    public var description: String { detail }
}

extension AuthorizationError {
    /// Converts a problem of the agent; the problem becomes the error's cause.
    init(_ problem: AgentProblem) {
        self.init(Code(rawValue: problem.code), problem.detail, cause: problem)
    }
}
