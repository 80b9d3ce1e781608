/// Another local user who gets tokens for some hosts from this user's agent: one entry of `AllowedPeers`.
public struct AllowedPeer: Sendable, Hashable, Codable {
    /// The user or group of an entry.
    public enum Peer: Sendable, Hashable {
        /// The user with this ID.
        case user(UInt32)
        /// Processes with this group ID; supplementary groups do not count.
        case group(UInt32)
    }

    /// The user or group.
    public let peer: Peer
    /// The hosts to issue tokens for.
    public let hosts: [HostRule]

    /// Creates an entry.
    public init(_ peer: Peer, hosts: [HostRule]) {
        self.peer = peer
        self.hosts = hosts
    }
}

extension AllowedPeer.Peer: CustomStringConvertible {
    /// Parses `uid:33` or `gid:33`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[1]), String(number) == parts[1] else { return nil }
        switch parts[0] {
        case "uid": self = .user(number)
        case "gid": self = .group(number)
        default: return nil
        }
    }

    /// The entry in profile syntax.
    public var description: String {
        switch self {
        case .user(let number): "uid:\(number)"
        case .group(let number): "gid:\(number)"
        }
    }
}

/// How a list of programs is applied that names none of Linux: the key `CredentialBundleIdACLMode`.
public enum CallerListMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// The list restricts no program, so that a profile for Macs can be used unchanged.
    case lenient
    /// The list is applied as it is: no program may use the tickets.
    case strict
}

/// A program that may use the agent's tickets: one entry of `credentialBundleIdACL` in its Linux form.
public enum CredentialCaller: Sendable, Hashable {
    /// The program with this file: `/usr/bin/curl`.
    case executable(String)
    /// Every program below this directory: `/opt/app/`.
    case folder(String)
    /// Processes in this systemd unit: `unit:backup.service`.
    case unit(String)

    /// Parses an entry; nil for another form, such as a Mac's bundle identifier.
    public init?(_ text: String) {
        if text.hasPrefix("/") {
            self = text.hasSuffix("/") ? .folder(text) : .executable(text)
        } else if text.hasPrefix("unit:") {
            self = .unit(String(text.dropFirst("unit:".count)))
        } else {
            return nil
        }
    }

    /// Whether the entry covers a process, by its executable and its innermost systemd unit.
    public func matches(executable: String?, unit: String?) -> Bool {
        switch self {
        case .executable(let path): executable == path
        case .folder(let path): executable?.hasPrefix(path) == true
        case .unit(let name): unit == name
        }
    }

    /// The stock programs of MIT and Heimdal that `includeKerberosAppsInBundleIdACL` adds.
    public static let kerberosTools: [CredentialCaller] = [
        "kinit", "klist", "kdestroy", "kswitch", "kvno", "kpasswd", "ktutil", "ksu", "kinit.heimdal", "kinit.mit", "klist.heimdal",
        "kdestroy.heimdal", "kswitch.heimdal", "kgetcred", "kpasswd.heimdal", "heimtools",
    ].flatMap { name in [.executable("/usr/bin/\(name)"), .executable("/usr/local/bin/\(name)")] }
}

extension CredentialCaller: CustomStringConvertible {
    /// The entry in profile syntax.
    public var description: String {
        switch self {
        case .executable(let path), .folder(let path): path
        case .unit(let name): "unit:\(name)"
        }
    }
}
