extension Session {
    /// With what a session's ticket can be acquired again where nobody is asked.
    package enum Reacquisition: Sendable, Hashable {
        /// Nothing is at hand.
        case none
        /// A keytab, or a password that is kept: a secret that signs in by itself.
        case key
        /// A certificate. Whether it wants a PIN, or a card that is not there, shows when it is used.
        case certificate
    }

    /// The setting in a cache that says how this project acquired its ticket.
    package static let acquisitionSetting = SessionMark.acquiredBy

    /// Whether the setting's value says that a keytab or a stored password gets the ticket again.
    package static func isAcquiredAgain(setting value: String) -> Bool { ["keytab", SessionMark.storedSecret].contains(value) }

    /// With what its ticket can be acquired again where nobody is asked.
    package var reacquisition: Reacquisition {
        switch acquiredBy {
        case .keytab, .storedSecret: .key
        case .certificate: .certificate
        default: .none
        }
    }
}
