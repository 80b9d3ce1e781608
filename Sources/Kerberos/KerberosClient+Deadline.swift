/// Whose KDCs a call may have to ask.
enum AskedRealms: Sendable, Hashable {
    /// Those of the client's own realm.
    case own
    /// Those on the way to a service too; its realm is empty where a KDC is asked for it.
    case wayTo(String)
}

extension KerberosClient {
    /// With one KDC.
    private static let usualDeadline = Duration.seconds(10)
    /// With several, since libkrb5 turns to the second after ten seconds; and with those of DNS.
    private static let longDeadline = Duration.seconds(25)

    /// How long a call waits that is given no deadline: by the number of KDCs of the own realm, and of the service's where that is known.
    func defaultDeadline(_ realms: AskedRealms = .own) async throws(KerberosError) -> Duration {
        let own = try await kdcOrder().named.count
        if own != 1 || isFoundInDNS(.own) { return Self.longDeadline }
        guard let other = other(realms), !other.isEmpty else { return Self.usualDeadline }
        let others = try await kdcCount(of: other)
        return others != 1 || isFoundInDNS(.trusted) ? Self.longDeadline : Self.usualDeadline
    }

    /// What gives a call the long time once a KDC has answered, where that one may have sent it on to another realm's.
    func lengthening(_ deadline: CallDeadline, _ realms: AskedRealms, within outer: ReplyNote?) -> ReplyNote? {
        guard other(realms) != nil else { return outer }
        return ReplyNote(within: outer) { deadline.lengthen(to: Self.longDeadline) }
    }

    /// The realm other than the own one that a call may lead to; nil where there is none.
    private func other(_ realms: AskedRealms) -> String? {
        guard case .wayTo(let realm) = realms, realm != configuration.realm else { return nil }
        return realm
    }

    /// The error of a call that got no answer in time; it accuses no realm that may have answered.
    func deadlineError(_ realms: AskedRealms, subject: String, detail: String) -> KerberosError {
        let own = configuration.realm
        let place = other(realms).map { "\(own), or of another realm on the way to \($0.isEmpty ? "the service" : $0)," } ?? own
        return KerberosError(
            .kdcUnreachable,
            subject: subject,
            message: "no KDC of \(place) answered (\(detail)). Check the network or the VPN, then try again."
        )
    }
}
