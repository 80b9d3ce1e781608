public import struct Foundation.URL

/// Decides about URLs by all active configurations, without network, cache or clock.
///
/// Across all configurations an exact rule takes precedence over a suffix, and the longest suffix over others; among equal rules the first.
/// Addresses are never answered, and plain http only if the selected configuration allows it for the host.
public struct DecisionPolicy: Sendable, Hashable {
    /// The configurations, in order.
    public let configurations: [ExtensionConfiguration]

    /// Creates a policy.
    public init(_ configurations: [ExtensionConfiguration]) { self.configurations = configurations }

    /// The default configuration: the first with `isDefaultRealm`, else the only one.
    public var defaultConfiguration: ExtensionConfiguration? {
        configurations.first(where: \.isDefaultRealm) ?? (configurations.count == 1 ? configurations.first : nil)
    }

    /// Decides about a URL. A URL that is not a valid origin is ignored, and the reason says why.
    public func decision(for url: URL) -> AuthorizationDecision {
        do {
            return decision(for: try Origin(url: url))
        } catch {
            return .ignore([DecisionReason(rule: "url", verdict: .failed, detail: error.message)])
        }
    }

    /// Decides about an origin, with every rule that was evaluated.
    public func decision(for origin: Origin) -> AuthorizationDecision {
        guard !configurations.isEmpty else {
            let detail = "No profile is active. Install one with: ksso setup FILE. If one is installed, run: ksso doctor"
            return .ignore([DecisionReason(rule: "hostRule", verdict: .failed, detail: detail)])
        }
        let matches = HostRuleMatch.all(in: configurations, host: origin.host)
        guard !origin.isAddress, let winner = matches.first else {
            let scheme = schemeReason(origin, winner: nil)
            return .ignore([scheme, addressReason(origin)] + uncoveredReasons(origin))
        }
        // A host that is not answered needs no settings.
        guard origin.scheme == .https || winner.plainHTTPRule(for: origin) != nil else {
            return .ignore(ruleReasons(origin, winner: winner, losers: matches.dropFirst()))
        }
        return .answer(
            AuthorizationPlan(
                origin: origin,
                challenger: .origin,
                hostRule: winner.rule,
                shared: winner.shared,
                serviceRealm: DomainRealmMatch.best(in: winner.configuration, host: origin.host)?.realm,
                reasons: PlanReasons(self, for: origin, .origin)
            )
        )
    }
}

extension DecisionPolicy {
    /// Every rule that was evaluated for an origin server or a proxy that is answered.
    func reasonsToAnswer(_ origin: Origin, _ challenger: Challenger) -> [DecisionReason] {
        guard challenger == .origin else { return reasonsToAnswer(proxy: origin) }
        let matches = HostRuleMatch.all(in: configurations, host: origin.host)
        guard let winner = matches.first else { return [] }
        let mapping = DomainRealmMatch.best(in: winner.configuration, host: origin.host)
        return ruleReasons(origin, winner: winner, losers: matches.dropFirst())
            + [serviceRealmReason(mapping, of: origin, in: winner.configuration)] + settingReasons(origin, in: winner.configuration)
    }

    /// The reasons why an origin that a rule covers is answered or not.
    func ruleReasons(_ origin: Origin, winner: HostRuleMatch, losers: ArraySlice<HostRuleMatch>) -> [DecisionReason] {
        [schemeReason(origin, winner: winner), addressReason(origin)] + hostRuleReasons(origin, winner: winner, losers: losers)
    }

    func schemeReason(_ origin: Origin, winner: HostRuleMatch?) -> DecisionReason {
        guard origin.scheme == .http else {
            return DecisionReason(rule: "scheme", verdict: .passed, detail: "The scheme is https.")
        }
        guard let rule = winner?.plainHTTPRule(for: origin) else {
            let detail = "Plain http is answered only for hosts in PlainHTTPHosts, and \(origin.host) is not listed there: use https."
            return DecisionReason(rule: "scheme", verdict: .failed, detail: detail)
        }
        return DecisionReason(rule: "scheme", verdict: .passed, detail: "PlainHTTPHosts lists \(rule), so it is answered over plain http.")
    }

    func addressReason(_ origin: Origin) -> DecisionReason {
        guard origin.isAddress else {
            return DecisionReason(rule: "address", verdict: .passed, detail: "\(origin.host) is a name.")
        }
        let detail = "\(origin.host) is an address, and a service principal requires a host name: use the host's name."
        return DecisionReason(rule: "address", verdict: .failed, detail: detail)
    }

    /// The selected rule, the other rules that cover the host, and then the configurations that do not cover it.
    func hostRuleReasons(_ origin: Origin, winner: HostRuleMatch, losers: ArraySlice<HostRuleMatch>) -> [DecisionReason] {
        let won = "\(winner.rule) of \(winner.configuration.label) covers \(origin.host)."
        var reasons = [DecisionReason(rule: "hostRule", verdict: .passed, detail: won)]
        for loser in losers {
            let comparison = loser.rule == winner.rule ? "comes after the same rule" : "is less specific"
            let lost = "\(loser.rule) of \(loser.configuration.label) covers \(origin.host) too, but \(comparison)."
            reasons.append(DecisionReason(rule: "hostRule", verdict: .notApplicable, detail: lost))
        }
        let covering = Set([winner.position] + losers.map(\.position))
        for (position, configuration) in configurations.enumerated() where !covering.contains(position) {
            reasons.append(uncoveredReason(origin, configuration, verdict: .notApplicable))
        }
        return reasons
    }

    func uncoveredReasons(_ origin: Origin) -> [DecisionReason] {
        configurations.map { uncoveredReason(origin, $0, verdict: origin.isAddress ? .notApplicable : .failed) }
    }

    func serviceRealmReason(
        _ mapping: DomainRealmMatch?,
        of origin: Origin,
        in configuration: ExtensionConfiguration
    ) -> DecisionReason {
        if let service = configuration.servicePrincipals[origin], service.utf8.contains(UInt8(ascii: "@")) {
            return DecisionReason(rule: "serviceRealm", verdict: .passed, detail: "ServicePrincipals also sets the realm: \(service).")
        }
        guard let mapping else {
            let detail =
                "domainRealmMapping has no entry for the host: the request goes to the KDC of \(configuration.realm), and its "
                + "referrals are followed."
            return DecisionReason(rule: "serviceRealm", verdict: .notApplicable, detail: detail)
        }
        let detail = "domainRealmMapping maps \(mapping.entry) to \(mapping.realm)."
        return DecisionReason(rule: "serviceRealm", verdict: .passed, detail: detail)
    }

    private func uncoveredReason(
        _ origin: Origin,
        _ configuration: ExtensionConfiguration,
        verdict: DecisionReason.Verdict
    ) -> DecisionReason {
        var detail = "No host rule of \(configuration.label) covers \(origin.host)."
        let place = configuration.source.isEmpty ? "Hosts" : "Hosts of \(configuration.source)"
        if configuration.hosts.contains(where: { $0.kind == .suffix && $0.domain == origin.host }) {
            detail += " .\(origin.host) covers the subdomains only: add \(origin.host) to \(place)."
        } else if let parent = configuration.hosts.first(where: { $0.kind == .exact && $0.subdomains.matches(host: origin.host) }) {
            detail += " \(parent) covers that host only: add \(origin.host), or .\(parent) for all its subdomains, to \(place)."
        } else if verdict == .failed {
            detail += " Check the spelling. To have it answered, add it to \(place)."
        }
        return DecisionReason(rule: "hostRule", verdict: verdict, detail: detail)
    }
}

extension ExtensionConfiguration {
    /// The realm and the file, for a message.
    var label: String { source.isEmpty ? "realm \(realm)" : "realm \(realm) (\(source))" }
}

/// One rule that was evaluated for a decision.
public struct DecisionReason: Sendable, Hashable, Codable {
    /// The result of the rule.
    public enum Verdict: String, Sendable, Hashable, Codable {
        /// The rule allows the request.
        case passed
        /// The rule rejects the request.
        case failed
        /// The rule does not apply.
        case notApplicable
    }

    /// A short stable name: `url`, `scheme`, `address`, `hostRule`, `serviceRealm`, `servicePrincipal`, `channelBinding`,
    /// `mutualAuthentication`, `delegation`, `preemptive`, `proxyHost`, `session`, `ticket`, `ticketSize`, `kdc`, `credentialUseMode`,
    /// `challenge`, `operation`, `screenLock`.
    public let rule: String
    /// The result of the rule.
    public let verdict: Verdict
    /// A sentence for users.
    public let detail: String

    /// Creates a reason.
    public init(rule: String, verdict: Verdict, detail: String) {
        self.rule = rule
        self.verdict = verdict
        self.detail = detail
    }
}
