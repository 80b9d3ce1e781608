extension DecisionPolicy {
    /// Every rule that was considered for an origin that is answered.
    func reasonsToAnswer(_ origin: Origin) -> [DecisionReason] {
        let matches = HostRuleMatch.all(in: configurations, host: origin.host)
        guard let winner = matches.first else { return [] }
        let mapping = DomainRealmMatch.best(in: winner.configuration, host: origin.host)
        return ruleReasons(origin, winner: winner, losers: matches.dropFirst())
            + [serviceRealmReason(mapping, of: origin, in: winner.configuration)] + settingReasons(origin, in: winner.configuration)
    }

    /// Whether an origin that a rule covers is answered.
    func ruleReasons(_ origin: Origin, winner: HostRuleMatch, losers: ArraySlice<HostRuleMatch>) -> [DecisionReason] {
        [schemeReason(origin, winner: winner), addressReason(origin)] + hostRuleReasons(origin, winner: winner, losers: losers)
    }

    func schemeReason(_ origin: Origin, winner: HostRuleMatch?) -> DecisionReason {
        guard origin.scheme == .http else {
            return DecisionReason(rule: "scheme", verdict: .passed, detail: "The scheme is https.")
        }
        guard let rule = winner?.plainHTTPRule(for: origin) else {
            let detail = "Plain http is answered only for hosts in PlainHTTPHosts, and \(origin.host) is not there: use https."
            return DecisionReason(rule: "scheme", verdict: .failed, detail: detail)
        }
        return DecisionReason(rule: "scheme", verdict: .passed, detail: "PlainHTTPHosts lets \(rule) be answered over plain http.")
    }

    func addressReason(_ origin: Origin) -> DecisionReason {
        guard origin.isAddress else {
            return DecisionReason(rule: "address", verdict: .passed, detail: "\(origin.host) is a name.")
        }
        let detail = "\(origin.host) is an address, and no service principal is named after one: use the host's name."
        return DecisionReason(rule: "address", verdict: .failed, detail: detail)
    }

    /// The rule that won, and the ones that cover the host and lost; then the configurations that do not cover it.
    func hostRuleReasons(_ origin: Origin, winner: HostRuleMatch, losers: ArraySlice<HostRuleMatch>) -> [DecisionReason] {
        let won = "\(winner.rule) of \(winner.configuration.label) covers \(origin.host)."
        var reasons = [DecisionReason(rule: "hostRule", verdict: .passed, detail: won)]
        for loser in losers {
            let comparison = loser.rule == winner.rule ? "stands after the same rule" : "is less specific"
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
        guard !configurations.isEmpty else {
            return [DecisionReason(rule: "hostRule", verdict: .failed, detail: "No configuration is in force: install a profile.")]
        }
        return configurations.map { uncoveredReason(origin, $0, verdict: origin.isAddress ? .notApplicable : .failed) }
    }

    func serviceRealmReason(
        _ mapping: DomainRealmMatch?,
        of origin: Origin,
        in configuration: ExtensionConfiguration
    ) -> DecisionReason {
        if let service = configuration.servicePrincipals[origin], service.utf8.contains(UInt8(ascii: "@")) {
            return DecisionReason(rule: "serviceRealm", verdict: .passed, detail: "ServicePrincipals names the realm too: \(service).")
        }
        guard let mapping else {
            let detail =
                "domainRealmMapping does not name the host: the KDC of \(configuration.realm) is asked, and its referrals followed."
            return DecisionReason(rule: "serviceRealm", verdict: .notApplicable, detail: detail)
        }
        let detail = "domainRealmMapping puts \(mapping.entry) into \(mapping.realm)."
        return DecisionReason(rule: "serviceRealm", verdict: .passed, detail: detail)
    }

    private func uncoveredReason(
        _ origin: Origin,
        _ configuration: ExtensionConfiguration,
        verdict: DecisionReason.Verdict
    ) -> DecisionReason {
        var detail = "No host rule of \(configuration.label) covers \(origin.host)."
        if configuration.hosts.contains(where: { $0.kind == .suffix && $0.name.dropFirst() == origin.host }) {
            detail += " .\(origin.host) covers the subdomains only: add \(origin.host)."
        } else if let parent = configuration.hosts.first(where: { $0.kind == .exact && origin.host.hasSuffix("." + $0.name) }) {
            detail += " \(parent) covers that host only: add .\(parent) for its subdomains."
        }
        return DecisionReason(rule: "hostRule", verdict: verdict, detail: detail)
    }
}

extension ExtensionConfiguration {
    /// Realm and file, for a sentence.
    fileprivate var label: String { source.isEmpty ? "realm \(realm)" : "realm \(realm) (\(source))" }
}
