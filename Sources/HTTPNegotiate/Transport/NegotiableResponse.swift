/// A client library's response, as far as an exchange has to know it.
package protocol NegotiableResponse: Sendable {
    var statusCode: Int { get }
    /// Whether it came as one of many streams over one connection: HTTP/2 or later.
    var isMultiplexed: Bool { get }
    /// The channel bindings of the connection that it came over; nil where there are none to be seen.
    var channelBindings: [UInt8]? { get }

    func fieldValues(_ name: String) -> [String]
    /// Reads and drops the body, so that the connection can be used again. Does not throw; gives up on a large body.
    func drain() async
}
