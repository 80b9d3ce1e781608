/// A request that came to a ``KDCNetwork``, and what went back.
public struct KDCExchange: Sendable, Hashable {
    /// What a message is, by its first byte (RFC 4120 section 5.10).
    public struct Message: RawRepresentable, Sendable, Hashable {
        /// The first byte.
        public let rawValue: UInt8

        /// Creates a kind from the first byte of such a message.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `AS-REQ`: a client asks for a ticket-granting ticket.
        public static let initialRequest = Message(rawValue: 0x6A)
        /// `AS-REP`.
        public static let initialReply = Message(rawValue: 0x6B)
        /// `TGS-REQ`: a client asks for a service ticket.
        public static let serviceRequest = Message(rawValue: 0x6C)
        /// `TGS-REP`.
        public static let serviceReply = Message(rawValue: 0x6D)
        /// `KRB-ERROR`: a refusal, or what the KDC wants to know first.
        public static let error = Message(rawValue: 0x7E)
    }

    /// By what it came: ``NetworkTransports/udp`` or ``NetworkTransports/tcp``.
    public let transport: NetworkTransports
    /// What the client sent; nil for no byte at all.
    public let request: Message?
    /// The bytes of the request, without the length that TCP puts in front.
    public let requestSize: Int
    /// What was done to it.
    public let fault: NetworkFault
    /// What the client was sent; nil for nothing yet, or nothing at all.
    public internal(set) var reply: Message?
    /// The bytes of the reply.
    public internal(set) var replySize = 0
}
