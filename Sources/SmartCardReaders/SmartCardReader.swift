/// A smart card reader of this machine.
package struct SmartCardReader: Sendable, Hashable {
    /// The reader's name, with the number of its slot.
    package let name: String
    /// Whether a card is in the reader.
    package let hasCard: Bool
    /// How often a card was inserted or removed while the service of the readers ran.
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
    /// The service of the readers (pcscd) does not answer: `SCARD_E_NO_SERVICE`, `SCARD_E_SERVICE_STOPPED`.
    case notRunning
    /// The service forbids this user to use the readers, such as a policy of polkit: `SCARD_W_SECURITY_VIOLATION`.
    case forbidden
    /// Another failure, with the library's text.
    case failed(String)
}

extension SmartCardServiceError: CustomStringConvertible {
    /// A sentence that says what failed and what to do.
    package var description: String {
        switch self {
        case .libraryMissing: "smart card readers cannot be watched, because PC/SC lite is missing. Install it: libpcsclite1 and pcscd"
        case .notRunning: "the service of the smart card readers does not answer. Install pcscd, or start it: systemctl start pcscd.socket"
        case .forbidden:
            "the service of the smart card readers refuses this user. Permit the polkit action org.debian.pcsc-lite.access_pcsc to the user"
        case .failed(let reason): "the service of the smart card readers (pcscd) failed: \(reason)"
        }
    }
}
