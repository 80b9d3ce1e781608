extension ExtensionConfiguration {
    /// The rule of ``preemptiveHosts`` that covers a host.
    func preemptiveRule(for host: String) -> HostRule? { preemptiveHosts.first { $0.matches(host: host) } }

    /// What the lists say of delegation, with the rule that says it. The unconditional list wins.
    func delegation(for host: String) -> (delegation: Delegation, rule: HostRule?) {
        if let rule = unconditionalDelegationHosts.first(where: { $0.matches(host: host) }) { return (.always, rule) }
        if let rule = delegationHosts.first(where: { $0.matches(host: host) }) { return (.byPolicy, rule) }
        return (.none, nil)
    }

    /// What the lists say of mutual authentication, with the rule that says it. The stricter list wins.
    func mutualAuthentication(for host: String) -> (mutualAuthentication: MutualAuthentication, rule: HostRule?) {
        if let rule = optionalMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.optional, rule) }
        if let rule = noMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.off, rule) }
        return (.required, nil)
    }

    /// The rule of ``noChannelBindingHosts`` that covers a host.
    func unboundRule(for host: String) -> HostRule? { noChannelBindingHosts.first { $0.matches(host: host) } }
}
