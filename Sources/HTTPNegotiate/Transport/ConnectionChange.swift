/// Why a request was not sent over the connection that it was meant for. Nothing of it left.
package enum ConnectionChange: Error, Hashable {
    /// The connection at hand is not the one that the exchange began on, or that the server authenticated.
    case connection
    /// The connection at hand shows a certificate with these channel bindings, nil for a certificate that has none.
    case certificate([UInt8]?)
    /// The server wants HTTP/1.1 for this request (RFC 9113 section 7, HTTP_1_1_REQUIRED).
    case protocolVersion
}
