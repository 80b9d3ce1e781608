internal import Kerberos
package import KerberosEngine

package import struct Foundation.Date

/// The state of a session that a schedule needs.
package struct SessionSnapshot: Sendable, Hashable {
    /// Identifies a session between looks. It includes the cache, because a principal can have several.
    package struct Key: Sendable, Hashable {
        /// The principal's full name, including the realm.
        package var principal: String
        /// The full name of the cache.
        package var cache: String

        package init(principal: String, cache: String) {
            self.principal = principal
            self.cache = cache
        }
    }

    /// The ticket-granting ticket; tickets are equal only if all properties are. Its times are converted to this machine's clock.
    package struct Ticket: Sendable, Hashable {
        package var authenticated: Date
        package var starts: Date
        package var expires: Date
        /// The end of its renewable life; nil if it is not renewable.
        package var renewUntil: Date?
        /// Distinguishes tickets with the same times, because the KDC's times are in whole seconds.
        package var fingerprint: Int

        package init(authenticated: Date, starts: Date, expires: Date, renewUntil: Date? = nil, fingerprint: Int = 0) {
            self.authenticated = authenticated
            self.starts = starts
            self.expires = expires
            self.renewUntil = renewUntil
            self.fingerprint = fingerprint
        }

        /// The lifetime in seconds.
        var lifetime: Double { expires.timeIntervalSince(starts) }
    }

    package var key: Key
    package var realm: String
    package var ticket: Ticket
    /// The credential with which the session can be reacquired without a prompt.
    package var reacquisition: Session.Reacquisition
    /// When the principal signed in.
    package var signedInAt: Date
    /// The hashes of the names of the services that have tickets. Keeping ten thousand names between looks would fragment the memory that
    /// each look frees, so that none of it could be returned to the system.
    package var services: Set<Int>

    /// When the password was changed with this project; nil if unknown.
    package var passwordChanged: Date?
    /// When the password expires; nil if unknown.
    package var passwordExpires: Date?
    /// When the directory of the domain was read; nil if it was not, or if it did not know of a password change yet.
    package var accountRead: Date?

    package init(
        key: Key,
        realm: String,
        ticket: Ticket,
        reacquisition: Session.Reacquisition = .none,
        signedInAt: Date? = nil,
        services: some Sequence<String> = [],
        passwordChanged: Date? = nil,
        passwordExpires: Date? = nil,
        accountRead: Date? = nil
    ) {
        self.key = key
        self.realm = realm
        self.ticket = ticket
        self.reacquisition = reacquisition
        self.signedInAt = signedInAt ?? ticket.authenticated
        self.passwordChanged = passwordChanged
        self.passwordExpires = passwordExpires
        self.accountRead = accountRead
        self.services = Set(services.lazy.map(\.hashValue))
    }
}

extension SessionSnapshot {
    /// Converts a session of the engine.
    init(_ session: Session) {
        let times = session.ticketTimes
        func local(_ date: Date) -> Date { date.addingTimeInterval(-session.clockOffset) }
        self.init(
            key: Key(session),
            realm: session.realm,
            ticket: Ticket(
                authenticated: local(times.authenticated),
                starts: local(times.starts),
                expires: session.ticketExpires,
                renewUntil: session.isRenewable ? session.renewUntil : nil,
                fingerprint: session.ticketFingerprint
            ),
            reacquisition: session.reacquisition,
            signedInAt: session.signedInAt,
            services: session.services.lazy.map(\.principal).filter { !$0.isDirectory }.map(\.description),
            passwordChanged: session.ownPasswordChange,
            passwordExpires: session.passwordExpires,
            accountRead: session.isAccountOutdated ? nil : session.account?.read
        )
    }
}

extension Principal {
    /// Whether it is the directory of a domain, whose ticket is acquired to read the account, and is no sign that the session is in use.
    fileprivate var isDirectory: Bool {
        components.count == 3 && components[0] == "ldap" && components[2] == realm.lowercased()
    }
}

extension SessionSnapshot.Key {
    init(_ session: Session) {
        self.init(principal: session.principal.description, cache: session.cache.rawValue)
    }
}
