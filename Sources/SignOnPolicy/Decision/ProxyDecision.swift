public import struct Foundation.URL

/// The sender of a challenge (RFC 9110 section 11): the origin server, which the request is for, or a proxy on the way to it.
///
/// The two are answered by different rules and in different header fields, so that a ticket for one never reaches the other.
public enum Challenger: String, Sendable, Hashable, Codable, CaseIterable {
    /// The origin server: status 401, `WWW-Authenticate` and `Authorization`. Answered if `Hosts` covers it.
    case origin
    /// A proxy: status 407, `Proxy-Authenticate` and `Proxy-Authorization`. Answered if `ProxyHosts` covers it.
    case proxy

    /// The challenger in a sentence.
    package var noun: String { self == .origin ? "server" : "proxy" }
}

extension DecisionPolicy {
    /// Decides about a URL for an origin server or a proxy. A URL that is not a valid origin is ignored, and the reason says why.
    ///
    /// - Parameters:
    ///   - url: For a proxy, `http://` and the address of the proxy itself.
    ///   - challenger: The sender of the challenge: the origin server or a proxy.
    public func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        guard challenger == .proxy else { return decision(for: url) }
        do {
            return decision(forProxy: try Origin(url: url))
        } catch {
            return .ignore([DecisionReason(rule: "url", verdict: .failed, detail: error.message)])
        }
    }

    /// Decides about a proxy, with every rule that was evaluated.
    ///
    /// A PAC file or DNS can name any host as a proxy, so only those in `ProxyHosts` get a ticket; `Hosts` has no effect here. The scheme
    /// may be http, because most proxies use no TLS. A proxy never gets the user's own ticket.
    public func decision(forProxy origin: Origin) -> AuthorizationDecision {
        guard !configurations.isEmpty else { return decision(for: origin) }
        let matches = HostRuleMatch.all(in: configurations, host: origin.host, list: \.proxyHosts)
        guard !origin.isAddress, let winner = matches.first else {
            return .ignore([addressReason(origin)] + configurations.map { unlistedReason(origin, $0) })
        }
        return .answer(
            AuthorizationPlan(
                origin: origin,
                challenger: .proxy,
                hostRule: winner.rule,
                shared: winner.shared,
                serviceRealm: DomainRealmMatch.best(in: winner.configuration, host: origin.host)?.realm,
                reasons: PlanReasons(self, for: origin, .proxy)
            )
        )
    }

    /// Every rule that was evaluated for a proxy that is answered.
    func reasonsToAnswer(proxy origin: Origin) -> [DecisionReason] {
        let matches = HostRuleMatch.all(in: configurations, host: origin.host, list: \.proxyHosts)
        guard let winner = matches.first else { return [] }
        let won = "\(winner.rule) in ProxyHosts of \(winner.configuration.label) covers the proxy \(origin.host)."
        var reasons = [addressReason(origin), DecisionReason(rule: "proxyHost", verdict: .passed, detail: won)]
        for loser in matches.dropFirst() {
            let comparison = loser.rule == winner.rule ? "comes after the same rule" : "is less specific"
            let lost = "\(loser.rule) in ProxyHosts of \(loser.configuration.label) covers it too, but \(comparison)."
            reasons.append(DecisionReason(rule: "proxyHost", verdict: .notApplicable, detail: lost))
        }
        let mapping = DomainRealmMatch.best(in: winner.configuration, host: origin.host)
        let delegation = "The user's own ticket is not forwarded: a proxy never gets it."
        return reasons + [
            serviceRealmReason(mapping, of: origin, in: winner.configuration),
            servicePrincipalReason(origin, in: winner.configuration),
            mutualAuthenticationReason(origin, .proxy, in: winner.configuration),
            DecisionReason(rule: "delegation", verdict: .notApplicable, detail: delegation),
        ]
    }

    private func unlistedReason(_ origin: Origin, _ configuration: ExtensionConfiguration) -> DecisionReason {
        let place = configuration.source.isEmpty ? "ProxyHosts" : "ProxyHosts of \(configuration.source)"
        var detail = "ProxyHosts of \(configuration.label) does not cover the proxy \(origin.host)."
        if !origin.isAddress { detail += " If it is your organization's proxy, add it to \(place)." }
        return DecisionReason(rule: "proxyHost", verdict: origin.isAddress ? .notApplicable : .failed, detail: detail)
    }
}
