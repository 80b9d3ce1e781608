package import HTTPTypes

/// A client library's request, as far as an exchange has to know it.
package protocol NegotiableRequest: Sendable {
    /// The URL, whole.
    var url: String { get set }
    /// The method's name.
    var methodName: String { get set }
    /// The fields, as far as they can be held.
    var fields: HTTPFields { get }
    /// Whether it can be sent a second time.
    var isReplayable: Bool { get }

    func hasField(_ name: String) -> Bool
    mutating func removeField(_ name: String)
    /// Puts fields in the place of those with the same names.
    mutating func replace(with fields: HTTPFields)
    mutating func removeBody()
    /// Makes it replayable, by reading its body into memory if need be.
    ///
    /// Throws `bodyNotReplayable` beyond the limit, or what the body itself throws.
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws
}
