import SignOnPolicy

/// `AllowedPeers`: other local users, each with the hosts for which the user gets tokens.
enum AllowedPeerEntry {
    static let key = "AllowedPeers"

    /// The valid entries of a payload, sorted by name.
    static func all(in keys: [String: ProfileValue]) -> [AllowedPeer] {
        (keys[key]?.dictionary ?? [:]).sorted { $0.key < $1.key }.compactMap { name, list in
            guard let peer = AllowedPeer.Peer(name) else { return nil }
            return AllowedPeer(peer, hosts: (list.strings ?? []).compactMap { try? HostRule($0) })
        }
    }
}

extension KeyChecker {
    /// Checks the user or group and the hosts of each entry.
    static func allowedPeerFaults(_ entries: [String: ProfileValue]) -> [Fault] {
        entries.sorted { $0.key < $1.key }.flatMap { name, list in
            var faults = each(list) { text throws(HostRuleError) in _ = try HostRule(text) }
                .map { Fault($0.verdict, at: [.key(name)] + $0.steps) }
            if AllowedPeer.Peer(name) == nil {
                let reason = "found \(name.debugDescription), expected a user or a group by number, such as uid:33 or gid:33"
                faults.insert(Fault(.badValue(reason: reason), at: [.key(name)]), at: 0)
            }
            return faults
        }
    }

    /// Checks the entries in Linux's forms. A Mac's bundle identifiers are ignored.
    static func callerFaults(_ entries: [String]) -> [Fault] {
        entries.enumerated().compactMap { offset, text in
            guard case .unit(let name) = CredentialCaller(text), !name.hasSuffix(".service"), !name.hasSuffix(".scope") else { return nil }
            let reason = "found \(text.debugDescription), expected a unit with its type, such as unit:backup.service"
            return Fault(.badValue(reason: reason), at: [.index(offset)])
        }
    }
}
