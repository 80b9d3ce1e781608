/// Why a request is to be sent again, over another connection.
package enum ConnectionChange: Error {
    /// The connection at hand is not the one that the exchange began on, or that the server authenticated. Nothing was sent.
    case connection
    /// No byte of a response came, and the request may be repeated: nothing of it was sent, the server did not process it, or its method is
    /// idempotent (RFC 9110 section 9.2.2). The error is for when no further attempt is made.
    case unanswered(HTTPTransportError)
    /// The connection at hand shows a certificate with these channel bindings, nil for a certificate that has none.
    case certificate([UInt8]?)
    /// The request needs HTTP/1.1: the server wants it (RFC 9113 section 7, HTTP_1_1_REQUIRED), or the head is too large for HTTP/2.
    case protocolVersion
}
