internal import CKerberos

public import struct Foundation.Date

/// When a ticket holds (RFC 4120 section 5.3).
public struct TicketTimes: Sendable, Hashable {
    /// When the person or the service proved itself to the KDC.
    public let authenticated: Date
    /// From when on the ticket holds.
    public let starts: Date
    /// Until when the ticket holds.
    public let expires: Date
    /// Until when it can be renewed; nil when it can't.
    public let renewUntil: Date?

    init(_ raw: krb5_ticket_times) {
        authenticated = Self.date(raw.authtime)
        starts = Self.date(raw.starttime == 0 ? raw.authtime : raw.starttime)
        expires = Self.date(raw.endtime)
        renewUntil = raw.renew_till == 0 ? nil : Self.date(raw.renew_till)
    }

    /// libkrb5 counts seconds in 32 bits without a sign, which lasts until 2106.
    private static func date(_ timestamp: krb5_timestamp) -> Date {
        Date(timeIntervalSince1970: Double(UInt32(bitPattern: timestamp)))
    }
}
