extension MarshalledCredential {
    /// Whether this one makes another superfluous, so that storing it replaces the other.
    ///
    /// libkrb5 1.20 stores its refresh time again and again and removes nothing, and each acquisition leaves the expired ticket behind: a
    /// cache would only grow. Tickets that a program can tell apart by asking stay side by side, those with another kind of key too.
    /// ``CredentialIndex`` has a key of the same fields.
    package func repeats(_ other: MarshalledCredential) -> Bool {
        isSessionKey == other.isSessionKey && encryptionType == other.encryptionType && client.isSame(as: other.client)
            && server.isSame(as: other.server) && secondTicket == other.secondTicket && authorizationData == other.authorizationData
    }

    /// The seconds by which clocks may differ.
    static let clockTolerance: Int64 = 300

    /// When the ticket ends, by the KDC's clock; nil for a setting, and for a ticket without an end.
    var expiry: UInt32? { times.end == 0 || server.isConfiguration ? nil : times.end }

    /// Whether the ticket is of no use any more at a time in seconds since 1970, by the KDC's clock.
    ///
    /// An entry that is a setting has an end of zero and never expires.
    package func hasExpired(at time: Int64) -> Bool { expiry.map { Int64($0) + Self.clockTolerance < time } ?? false }

    /// Until when the ticket can be used or renewed, by the KDC's clock; nil for a setting, and for a ticket without an end.
    var endOfLife: UInt32? {
        // RFC 4120 section 2.3: without the flag the time says nothing.
        let isRenewable = ticketFlags & 0x0080_0000 != 0
        return expiry.map { isRenewable ? max($0, times.renewTill) : $0 }
    }
}
