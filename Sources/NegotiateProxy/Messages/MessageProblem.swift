/// Why a received head or body is not used: it violates HTTP/1.1, or two recipients could read it differently (RFC 9112 section 11).
package struct MessageProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The status that refuses a request with this problem.
    package let status: Int
    /// What is wrong, as a clause without a final period: `it has two Content-Length fields`.
    package let clause: String

    package init(_ clause: String, status: Int = 400) {
        self.clause = clause
        self.status = status
    }

    package var description: String { clause }
}
