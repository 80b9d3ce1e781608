package import Kerberos

/// What came of an attempt to get a session's ticket anew, as far as the next one depends on it.
package enum RefreshOutcome: String, Sendable, Hashable {
    /// There is another ticket.
    case refreshed
    /// No KDC answered.
    case unreachable
    /// It may go better another time.
    case failed
    /// The KDC has spoken, or there is nothing to try with: the same again soon helps nobody and may lock the account.
    case refused
    /// It can't go on without somebody who is asked.
    case needsPerson
    /// The session ended meanwhile.
    case gone
    /// It was given up to begin anew.
    case abandoned
}

extension RefreshOutcome {
    /// What a failure of the engine means.
    package init(_ error: KerberosError) {
        self =
            switch error.code {
            case .kdcUnreachable, .realmUnknown: .unreachable
            case .canceled: .abandoned
            // A KDC without its database says the same as one with another key, and comes back.
            case .ticketRefused where error.isGeneric: .failed
            case .notInteractive: .needsPerson
            case .wrongPassword, .accountLocked, .accountExpired, .passwordExpired, .unknownPrincipal, .policyRefused,
                .encryptionTypeRefused, .preauthenticationRefused, .notRenewable, .ticketExpired, .ticketRefused, .certificateRefused,
                .noCredentials:
                .refused
            default: .failed
            }
    }
}
