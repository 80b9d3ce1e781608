internal import CKerberos

internal import struct Foundation.Date

/// One service ticket, ready to make tokens: kept in MEMORY caches of its own under held GSSAPI credentials.
///
/// Making a token touches neither the network nor a ticket file, and costs the same however many tickets the user has, since libkrb5 has
/// only this one to look through. Use it from any thread, and from several at once.
public final class InitiatorCredential: Sendable {
    /// Whose ticket it is.
    public let client: Principal
    /// For which service it is.
    public let server: Principal
    /// When it holds.
    public let times: TicketTimes
    /// Whether the client's ticket-granting ticket is in it too, so that a copy can go to the service.
    ///
    /// GSSAPI asks the KDC for that copy: a token is made by ``KerberosClient/beginNegotiation(with:flags:channelBindings:deadline:)``
    /// then.
    public let canDelegate: Bool
    /// The number of its ticket; see ``Credential``.
    package let ticketFingerprint: Int
    /// By how many seconds the KDC's clock was ahead when this was made.
    /// By how many seconds the KDC's clock was ahead of this machine's, as the ticket's cache says; tokens carry the KDC's time.
    package let clockOffset: Int32
    let target: GSSName
    let handles: InitiatorHandles

    init(_ ticket: Credential, ticketGrantingTicket: Credential? = nil, context: Context) throws(KerberosError) {
        client = ticket.client
        server = ticket.server
        times = ticket.times
        canDelegate = ticketGrantingTicket != nil
        ticketFingerprint = ticket.fingerprint
        clockOffset = context.clockOffset
        target = try GSSName(principal: ticket.server)
        handles = try InitiatorHandles(
            holding: [ticket] + (ticketGrantingTicket.map { [$0] } ?? []),
            subject: ticket.server.description,
            // With a ticket-granting ticket the realm's one thread makes all tokens.
            limit: canDelegate ? 1 : InitiatorHandles.usualLimit,
            context: context
        )
    }

    /// Whether the ticket holds by the KDC's clock. GSSAPI goes by this machine's when it looks whether there is still time.
    var holdsByClockOfKDC: Bool { times.expires > Date(timeIntervalSinceNow: Double(clockOffset)) }
}

extension KerberosClient {
    /// Makes a credential that makes tokens from one service ticket.
    ///
    /// - Parameters:
    ///   - ticket: the service ticket.
    ///   - ticketGrantingTicket: the client's own, forwardable, where a copy of it shall go to the service; nil where it stays here.
    ///   - cache: where the ticket comes from. The KDC's clock offset is kept there, and a token without it would carry this machine's
    ///     time.
    public func initiatorCredential(
        for ticket: Credential,
        ticketGrantingTicket: Credential? = nil,
        from cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> InitiatorCredential {
        try await perform { context throws(KerberosError) in
            if let cache { try context.withCacheAndClock(cache) { _ in } }
            return try InitiatorCredential(ticket, ticketGrantingTicket: ticketGrantingTicket, context: context)
        }
    }
}
