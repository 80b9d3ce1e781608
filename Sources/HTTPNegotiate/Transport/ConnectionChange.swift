/// Why a request is to go over another connection than it was meant for. Nothing of it left; or, with ``connection``, no byte of an answer
/// came and the request may be repeated (RFC 9110 section 9.2.2).
package enum ConnectionChange: Error, Hashable {
    /// The connection at hand is not the one that the exchange began on, or that the server authenticated; or it ended as the request came.
    case connection
    /// The connection at hand shows a certificate with these channel bindings, nil for a certificate that has none.
    case certificate([UInt8]?)
    /// The server wants HTTP/1.1 for this request (RFC 9113 section 7, HTTP_1_1_REQUIRED).
    case protocolVersion
}
