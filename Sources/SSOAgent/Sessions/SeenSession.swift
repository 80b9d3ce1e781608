internal import Kerberos
package import KerberosEngine

package import struct Foundation.Date

/// What a schedule has to know of a session.
package struct SeenSession: Sendable, Hashable {
    /// What makes it the same session when it is seen again: a principal may have several caches.
    package struct Key: Sendable, Hashable {
        /// Whose it is, realm included.
        package var principal: String
        /// The full name of the cache.
        package var cache: String

        package init(principal: String, cache: String) {
            self.principal = principal
            self.cache = cache
        }
    }

    /// The ticket-granting ticket: another one is another ticket. Its times are by this machine's clock, whatever the KDC's shows.
    package struct Ticket: Sendable, Hashable {
        package var authenticated: Date
        package var starts: Date
        package var expires: Date
        /// Until when it can be renewed; nil when it can't.
        package var renewUntil: Date?
        /// Tells it from another one with the same times: the KDC counts in seconds.
        package var fingerprint: Int

        package init(authenticated: Date, starts: Date, expires: Date, renewUntil: Date? = nil, fingerprint: Int = 0) {
            self.authenticated = authenticated
            self.starts = starts
            self.expires = expires
            self.renewUntil = renewUntil
            self.fingerprint = fingerprint
        }

        /// In seconds.
        var lifetime: Double { expires.timeIntervalSince(starts) }
    }

    package var key: Key
    package var realm: String
    package var ticket: Ticket
    /// With what the session can be acquired again without asking.
    package var reacquisition: Session.Reacquisition
    /// When the principal signed in.
    package var signedInAt: Date
    /// The services that there are tickets for, by the hashes of their names. Ten thousand names that are kept from one look to the next
    /// would lie between what each look frees, so that none of it could be given back.
    package var services: Set<Int>

    /// When the password was changed with this project; nil where that is not known.
    package var passwordChanged: Date?
    /// When the password expires; nil where that is not known.
    package var passwordExpires: Date?

    package init(
        key: Key,
        realm: String,
        ticket: Ticket,
        reacquisition: Session.Reacquisition = .none,
        signedInAt: Date? = nil,
        services: some Sequence<String> = [],
        passwordChanged: Date? = nil,
        passwordExpires: Date? = nil
    ) {
        self.key = key
        self.realm = realm
        self.ticket = ticket
        self.reacquisition = reacquisition
        self.signedInAt = signedInAt ?? ticket.authenticated
        self.passwordChanged = passwordChanged
        self.passwordExpires = passwordExpires
        self.services = Set(services.lazy.map(\.hashValue))
    }
}

extension SeenSession {
    /// A session as the engine sees it.
    init(_ session: Session) {
        let times = session.ticketTimes
        func local(_ date: Date) -> Date { date.addingTimeInterval(-session.clockOffset) }
        self.init(
            key: Key(session),
            realm: session.realm,
            ticket: Ticket(
                authenticated: local(times.authenticated),
                starts: local(times.starts),
                expires: local(times.expires),
                renewUntil: session.isRenewable ? times.renewUntil.map(local) : nil,
                fingerprint: session.ticketFingerprint
            ),
            reacquisition: session.reacquisition,
            signedInAt: session.signedInAt,
            services: session.services.lazy.map(\.principal.description),
            passwordChanged: session.passwordChanged,
            passwordExpires: session.passwordExpires.map(local)
        )
    }
}

extension SeenSession.Key {
    init(_ session: Session) {
        self.init(principal: session.principal.description, cache: session.cache.rawValue)
    }
}
