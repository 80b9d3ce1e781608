public import struct Foundation.URL

/// All configurations in force, and the verdict that they give. Pure: no network, no cache, no clock.
///
/// Over all configurations an exact rule beats a suffix, and the longest suffix wins; of equal rules the first. An address is never
/// answered, and plain http only where the winning configuration opts the host in.
public struct DecisionPolicy: Sendable, Hashable {
    /// The configurations, in their order.
    public let configurations: [ExtensionConfiguration]

    /// Makes a policy.
    public init(_ configurations: [ExtensionConfiguration]) { self.configurations = configurations }

    /// The configuration when nothing else decides: the one with `isDefaultRealm`, else the only one.
    public var defaultConfiguration: ExtensionConfiguration? {
        configurations.first(where: \.isDefaultRealm) ?? (configurations.count == 1 ? configurations.first : nil)
    }

    /// The verdict for a URL; one that is no origin is ignored, and the reason says why.
    public func decision(for url: URL) -> AuthorizationDecision {
        do {
            return decision(for: try Origin(url: url))
        } catch {
            return .ignore([DecisionReason(rule: "url", verdict: .failed, detail: error.message)])
        }
    }

    /// The verdict for an origin, with every rule that was considered.
    public func decision(for origin: Origin) -> AuthorizationDecision {
        let matches = HostRuleMatch.all(in: configurations, host: origin.host)
        guard !origin.isAddress, let winner = matches.first else {
            let scheme = schemeReason(origin, winner: nil)
            return .ignore([scheme, addressReason(origin)] + uncoveredReasons(origin))
        }
        // How a host is answered is of no interest where it is not.
        guard origin.scheme == .https || winner.plainHTTPRule(for: origin) != nil else {
            return .ignore(ruleReasons(origin, winner: winner, losers: matches.dropFirst()))
        }
        return .answer(
            AuthorizationPlan(
                origin: origin,
                hostRule: winner.rule,
                configuration: winner.configuration,
                serviceRealm: DomainRealmMatch.best(in: winner.configuration, host: origin.host)?.realm,
                reasons: PlanReasons(self, for: origin)
            )
        )
    }
}
