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
    /// The user's own ticket goes to the server: `GSS_C_DELEG_FLAG`. Never asked for by default, and asking is no promise: look whether it
    /// is among the flags granted.
    public static let delegation = ContextFlags(rawValue: UInt32(GSS_C_DELEG_FLAG))
    /// The same, where the KDC vouches for the service: `GSS_C_DELEG_POLICY_FLAG`.
    public static let delegationByPolicy = ContextFlags(rawValue: UInt32(GSS_C_DELEG_POLICY_FLAG))
    /// The acceptor saw the same channel bindings: `GSS_C_CHANNEL_BOUND_FLAG`. The acceptor alone learns it.
    ///
    /// An initiator that asks for it and has no bindings wants acceptors with bindings to refuse the token. libkrb5 1.20 does not hand the
    /// wish on; `client_aware_channel_bindings` of the process's krb5.conf does the same there.
    public static let channelBound = ContextFlags(rawValue: 0x800)

    /// What may be asked for and not be granted: a context without it stands all the same.
    static let wishes: ContextFlags = [.delegation, .delegationByPolicy, .channelBound]
}
