internal import CKerberos

/// What a security context offers (RFC 2743 section 1.2.2): asked for by the initiator, then held against what was granted.
public struct ContextFlags: OptionSet, Sendable, Hashable {
    /// The bits of `GSS_C_…_FLAG`.
    public let rawValue: UInt32
    /// Flags by their bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The server proves itself too: `GSS_C_MUTUAL_FLAG`.
    public static let mutualAuthentication = ContextFlags(rawValue: UInt32(GSS_C_MUTUAL_FLAG))
    /// Messages can be signed: `GSS_C_INTEG_FLAG`.
    public static let integrity = ContextFlags(rawValue: UInt32(GSS_C_INTEG_FLAG))
    /// A message that comes twice is noticed: `GSS_C_REPLAY_FLAG`.
    public static let replayDetection = ContextFlags(rawValue: UInt32(GSS_C_REPLAY_FLAG))
    /// The user's ticket goes to the server: `GSS_C_DELEG_FLAG`. Never asked for by default.
    public static let delegation = ContextFlags(rawValue: UInt32(GSS_C_DELEG_FLAG))
    /// The acceptor saw the same channel bindings: `GSS_C_CHANNEL_BOUND_FLAG`. The acceptor alone learns it.
    public static let channelBound = ContextFlags(rawValue: 0x800)
}
