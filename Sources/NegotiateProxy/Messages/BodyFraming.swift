/// How the end of a body is marked (RFC 9112 section 6).
package enum BodyFraming: Sendable, Hashable {
    case none
    /// By `Content-Length`.
    case length(Int)
    /// By the chunked transfer coding.
    case chunked
    /// By the end of the connection; only for responses.
    case untilClose
}

extension RequestHead {
    /// The framing of the body. Throws if two recipients could find different ends.
    package func framing() throws(MessageProblem) -> BodyFraming {
        try fields.markedFraming(minorVersion: minorVersion) ?? .none
    }
}

extension ResponseHead {
    /// The framing of the body of a final response. Throws if two recipients could find different ends.
    ///
    /// - Parameter method: The method of the request.
    package func framing(to method: String) throws(MessageProblem) -> BodyFraming {
        let marked = try fields.markedFraming(minorVersion: minorVersion)
        if method == "HEAD" || [101, 204, 304].contains(status) { return .none }
        return marked ?? .untilClose
    }
}

extension HeadFields {
    /// The framing that the fields state; nil without any.
    fileprivate func markedFraming(minorVersion: Int) throws(MessageProblem) -> BodyFraming? {
        let lengths = values("Content-Length")
        let codings = values("Transfer-Encoding")
        guard codings.isEmpty else {
            guard minorVersion == 1 else { throw MessageProblem("it is HTTP/1.0 with a Transfer-Encoding") }
            guard lengths.isEmpty else { throw MessageProblem("it has both Content-Length and Transfer-Encoding") }
            guard codings.count == 1, String(decoding: codings[0], as: UTF8.self).asciiLowercasedText == "chunked" else {
                throw MessageProblem("its Transfer-Encoding is not chunked", status: 501)
            }
            return .chunked
        }
        guard !lengths.isEmpty else { return nil }
        guard lengths.count == 1 else { throw MessageProblem("it has several Content-Length fields") }
        let digits = lengths[0]
        guard (1...18).contains(digits.count), digits.allSatisfy(\.isDigitByte), let length = Int(String(decoding: digits, as: UTF8.self))
        else {
            throw MessageProblem("its Content-Length is not a number")
        }
        return .length(length)
    }
}
