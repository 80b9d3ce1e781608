internal import Foundation
internal import Kerberos

/// A key in a keytab. Its ticket is always reacquired and never renewed, because that needs no person and the new ticket lasts longer.
struct KeytabCredential: SignInCredential {
    static let name = "keytab"
    static let reacquisition = Session.Reacquisition.key
    /// The mark with the keytab's name.
    private static let mark = "ksso_keytab"
    /// The keytab's name, with an absolute path; empty is the client keytab.
    private let keytab: String

    /// Creates the credential with a name from a mark.
    init(name: String) { keytab = name }

    /// Creates the credential with a name that a caller gave; nil is the client keytab.
    init(given name: String?) { keytab = name.map(Self.absolute) ?? "" }

    init(marks: [String: String]) { keytab = marks[Self.mark] ?? "" }

    var text: String { "ksso with the keytab \(keytab.isEmpty ? "of KRB5_CLIENT_KTNAME" : keytab)" }
    var acquisition: Session.Acquisition { .keytab(keytab) }
    var marks: [String: String] { [Self.mark: keytab] }

    /// The source of a sign-in with the keytab.
    private var source: InitialCredentialSource { keytab.isEmpty ? .clientKeytab : .keytab(keytab) }

    /// Returns the source without the prompter, because a key requires no person.
    func source(askedBy prompter: any Prompter) -> InitialCredentialSource { source }

    /// Permits every keytab, because it is only read.
    func checkNaming(in realm: String, by permissions: SignInPermissions) async throws(KerberosError) {}

    /// Returns the source unchanged. No profile forbids keytabs.
    func permitted(
        _ source: InitialCredentialSource,
        in realm: String,
        by permissions: SignInPermissions
    ) async throws(KerberosError) -> InitialCredentialSource {
        source
    }

    /// Requests a ticket. Concurrent requests with one key share one request to the KDC, because the KDC counts each wrong one and may lock
    /// the account.
    func ticket(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        by exchange: InitialExchange
    ) async throws(KerberosError) -> SignInTicket {
        let client = exchange.client(for: principal.realm)
        let flight = KeyFlight(principal: principal, keytab: keytab, options: options)
        let ticket = try await exchange.keyFlights.run(flight) { () async throws(KerberosError) in
            try await client.initialCredential(for: principal, using: source, options: options)
        }
        return SignInTicket(ticket)
    }

    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session {
        try await reacquire(session, with: renewal, keepsTickets: true)
    }

    /// Reacquires the ticket-granting ticket.
    ///
    /// - Parameter keepsTickets: Whether the session's service tickets are kept. If so, the pause after a KDC did not answer is ignored.
    func reacquire(_ session: Session, with renewal: Renewal, keepsTickets: Bool) async throws(KerberosError) -> Session {
        try await renewal.tickets.replace(in: session, keepsTickets: keepsTickets) { _ async throws(KerberosError) in
            try await renewal.backoff.attempt(session.principal, ignoresPause: keepsTickets) { () async throws(KerberosError) in
                try await renewal.exchange.ticket(for: session.principal, using: source)
            }
        }
    }

    /// Returns the keytab name with an absolute path, because a later command may run in another working directory.
    private static func absolute(_ keytab: String) -> String {
        let type = keytab.prefix { $0 != ":" && $0 != "/" }
        let hasType = keytab.dropFirst(type.count).first == ":"
        guard !hasType || type == "FILE" else { return keytab }
        let path = hasType ? String(keytab.dropFirst(type.count + 1)) : keytab
        return (hasType ? "FILE:" : "") + URL(filePath: path).path
    }
}

extension Session {
    /// The keytab that the ticket came from; nil if it came from another source.
    var keytab: KeytabCredential? { acquiredBy.kind as? KeytabCredential }
}

/// Identifies sign-ins with a key that can share one request.
struct KeyFlight: Hashable {
    let principal: Principal
    /// The keytab's name, with an absolute path; empty is the client keytab.
    let keytab: String
    let options: InitialCredentialOptions
}
