internal import SystemSupport

/// A smart card reader of this machine.
package struct SmartCardReader: Sendable, Hashable {
    /// The reader's name, which a device chooses, with the number of its slot.
    package let name: String
    /// Whether a card is in the reader.
    package let hasCard: Bool
    /// How often a card was inserted or removed since the service started.
    package let changes: Int

    package init(name: String, hasCard: Bool, changes: Int) {
        self.name = name
        self.hasCard = hasCard
        self.changes = changes
    }
}

/// Why the readers are not known.
package enum SmartCardServiceError: Error, Sendable, Hashable {
    /// PC/SC lite is not installed.
    case libraryMissing
    /// The service (pcscd) does not answer, or has ended: `SCARD_E_NO_SERVICE`, `SCARD_E_SERVICE_STOPPED`, `SCARD_F_COMM_ERROR`.
    case noAnswer
    /// The service forbids this user to use the readers, such as by a policy of polkit: `SCARD_W_SECURITY_VIOLATION`.
    case forbidden
    /// Another failure, with the library's text.
    case failed(String)
}

extension SmartCardServiceError: CustomStringConvertible {
    /// What failed, as a clause.
    package var reason: String {
        switch self {
        case .libraryMissing: "PC/SC lite is not installed"
        case .noAnswer: "the smart card service (pcscd) does not answer"
        case .forbidden: "the smart card service (pcscd) refuses this user"
        case .failed(let text): "the smart card service (pcscd) failed: \(text.escapedForDisplay(limit: 200))"
        }
    }

    /// What to do, as a sentence.
    package var remedy: String {
        switch self {
        case .libraryMissing: "Install it: apt install pcscd libpcsclite1"
        case .noAnswer: "Install pcscd, or start it: systemctl start pcscd.socket"
        case .forbidden: "Sign in at the machine itself, or ask its administrator (polkit: org.debian.pcsc-lite.access_pcsc)."
        case .failed: "Restart it: systemctl restart pcscd.service"
        }
    }

    /// What failed and what to do.
    package var description: String { "\(reason). \(remedy)" }
}
