extension MarshalledCredential {
    /// Whether this one makes another superfluous, so that storing it replaces the other.
    ///
    /// libkrb5 1.20 stores its refresh time again and again and removes nothing, and each acquisition leaves the expired ticket behind: a
    /// cache would only grow. Tickets that a program can tell apart by asking stay side by side, those with another kind of key too.
    package func repeats(_ other: MarshalledCredential) -> Bool {
        isSessionKey == other.isSessionKey && encryptionType == other.encryptionType && client.isSame(as: other.client)
            && server.isSame(as: other.server) && secondTicket == other.secondTicket && authorizationData == other.authorizationData
    }

    /// Whether the ticket is of no use any more at a time in seconds since 1970, by the KDC's clock.
    ///
    /// An entry that is a setting has an end of zero and never expires. The five minutes are those by which clocks may differ.
    package func hasExpired(at time: Int64) -> Bool {
        let end = Int64(times.end)
        return end != 0 && end + 300 < time && !server.isConfiguration
    }
}
