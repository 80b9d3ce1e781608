extension DecisionPolicy {
    /// How the host is answered: one reason for each setting, whether a list of the profile names the host or not.
    func settingReasons(_ origin: Origin, in configuration: ExtensionConfiguration) -> [DecisionReason] {
        [
            servicePrincipalReason(origin, in: configuration), channelBindingReason(origin, in: configuration),
            mutualAuthenticationReason(origin, in: configuration), delegationReason(origin, in: configuration),
            preemptiveReason(origin, in: configuration),
        ]
    }

    private func servicePrincipalReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard let service = configuration.servicePrincipals[origin] else {
            let detail = "The service principal comes from the URL's host: ServicePrincipals does not name \(origin)."
            return DecisionReason(rule: "servicePrincipal", verdict: .notApplicable, detail: detail)
        }
        return DecisionReason(rule: "servicePrincipal", verdict: .passed, detail: "ServicePrincipals names \(service) for \(origin).")
    }

    private func channelBindingReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard origin.scheme == .https else {
            let detail = "Without TLS there is no certificate to bind the ticket to."
            return DecisionReason(rule: "channelBinding", verdict: .notApplicable, detail: detail)
        }
        if let rule = configuration.unboundRule(for: origin.host) {
            let detail = "NoChannelBindingHosts has \(rule): the ticket is not bound to the server's certificate."
            return DecisionReason(rule: "channelBinding", verdict: .notApplicable, detail: detail)
        }
        return DecisionReason(rule: "channelBinding", verdict: .passed, detail: "The ticket is bound to the server's certificate.")
    }

    private func mutualAuthenticationReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        let (mutual, rule) = configuration.mutualAuthentication(for: origin.host)
        guard let rule else {
            return DecisionReason(rule: "mutualAuthentication", verdict: .passed, detail: "The server must prove itself.")
        }
        let detail =
            mutual == .optional
            ? "OptionalMutualAuthenticationHosts has \(rule): the server need not prove itself."
            : "NoMutualAuthenticationHosts has \(rule): the server is not asked to prove itself."
        return DecisionReason(rule: "mutualAuthentication", verdict: .notApplicable, detail: detail)
    }

    private func delegationReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        let (delegation, rule) = configuration.delegation(for: origin.host)
        guard let rule else {
            let detail = "The user's own ticket stays here: DelegationHosts does not cover \(origin.host)."
            return DecisionReason(rule: "delegation", verdict: .notApplicable, detail: detail)
        }
        let detail =
            delegation == .always
            ? "UnconditionalDelegationHosts has \(rule): the server gets the user's own ticket."
            : "DelegationHosts has \(rule): the server gets the user's own ticket if the KDC vouches for it (ok-as-delegate)."
        return DecisionReason(rule: "delegation", verdict: .passed, detail: detail)
    }

    private func preemptiveReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard let rule = configuration.preemptiveRule(for: origin.host) else {
            let detail = "A request goes without a ticket first: PreemptiveHosts does not cover \(origin.host)."
            return DecisionReason(rule: "preemptive", verdict: .notApplicable, detail: detail)
        }
        let detail = "PreemptiveHosts has \(rule): once the server has asked for a ticket, later requests carry one unasked."
        return DecisionReason(rule: "preemptive", verdict: .passed, detail: detail)
    }
}
