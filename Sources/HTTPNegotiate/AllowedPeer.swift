/// Another local user who gets tokens for some hosts from this user's agent: one entry of `AllowedPeers`.
public struct AllowedPeer: Sendable, Hashable {
    /// Who is meant.
    public enum Peer: Sendable, Hashable {
        /// The user with this number.
        case user(UInt32)
        /// The processes whose group has this number; their further groups do not count.
        case group(UInt32)
    }

    /// Who is meant.
    public let peer: Peer
    /// The hosts that tokens are made for.
    public let hosts: [HostRule]

    /// Makes an entry.
    public init(_ peer: Peer, hosts: [HostRule]) {
        self.peer = peer
        self.hosts = hosts
    }
}

extension AllowedPeer.Peer: CustomStringConvertible {
    /// Reads `uid:33` or `gid:33`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[1]), String(number) == parts[1] else { return nil }
        switch parts[0] {
        case "uid": self = .user(number)
        case "gid": self = .group(number)
        default: return nil
        }
    }

    /// As a profile writes it.
    public var description: String {
        switch self {
        case .user(let number): "uid:\(number)"
        case .group(let number): "gid:\(number)"
        }
    }
}
