extension Sequence<ExtensionConfiguration> {
    /// After how much of its life a ticket of a realm is to be got anew: what the configurations say, the soonest of it; else two thirds.
    ///
    /// - Parameter lifetime: From the ticket's start to its end, in seconds.
    /// - Returns: Seconds from the ticket's start.
    package func renewalTime(in realm: String, lifetime: Double) -> Double {
        let fractions = lazy.filter { $0.realm == realm }.compactMap(\.usableRenewalFraction)
        return fractions.min().map { lifetime * $0 } ?? lifetime * 2 / 3
    }

    /// Whether an agent gets the tickets of a realm anew before a request needs them.
    package func monitorsCredentials(of realm: String) -> Bool { !contains { $0.realm == realm && !$0.monitorsCredentials } }
}

extension ExtensionConfiguration {
    /// With 0 or less each ticket would be due as soon as it has come, and the KDC would be asked without end.
    fileprivate var usableRenewalFraction: Double? {
        guard let renewalFraction, !renewalFraction.isNaN else { return nil }
        return Swift.min(Swift.max(renewalFraction, 0.1), 0.95)
    }
}
