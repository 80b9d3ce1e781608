internal import HTTPNegotiate
internal import Kerberos

extension DecisionPolicy {
    /// What to ask of the KDC for a principal: a forwardable ticket where a server may have a copy of it, which krb5.conf need not say
    /// then.
    func initialCredentialOptions(
        for principal: Principal,
        _ options: InitialCredentialOptions = .init()
    ) -> InitialCredentialOptions {
        var options = options
        if options.isForwardable == nil, configurations.contains(where: { $0.delegates(for: principal) }) { options.isForwardable = true }
        return options
    }
}

extension ExtensionConfiguration {
    /// Whether a server may get this principal's own ticket.
    fileprivate func delegates(for principal: Principal) -> Bool {
        guard !(delegationHosts.isEmpty && unconditionalDelegationHosts.isEmpty) else { return false }
        return realm == principal.realm || principalName?.hasSuffix("@\(principal.realm)") == true
    }
}
