/// By what a client and a KDC exchange messages (RFC 4120 section 7.2).
public struct NetworkTransports: OptionSet, Sendable, Hashable {
    /// One bit for each.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Datagrams, one for a request and one for its reply.
    public static let udp = NetworkTransports(rawValue: 1)
    /// Connections, in which the length stands before each message.
    public static let tcp = NetworkTransports(rawValue: 2)
    /// UDP and TCP.
    public static let both: NetworkTransports = [.udp, .tcp]
}

extension NetworkTransports: CustomStringConvertible {
    /// Such as `udp and tcp`.
    public var description: String {
        let names = (contains(.udp) ? ["udp"] : []) + (contains(.tcp) ? ["tcp"] : [])
        return names.isEmpty ? "neither udp nor tcp" : names.joined(separator: " and ")
    }
}
