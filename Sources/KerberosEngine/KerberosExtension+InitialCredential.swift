internal import Kerberos

extension KerberosExtension {
    /// Asks the KDC for a ticket-granting ticket. A key is sent once for all who send it at the same time: each wrong one is counted there,
    /// and enough of them lock the account. What a person gives is the one caller's own.
    func initialCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> Credential {
        let client = clients.client(for: principal.realm)
        let keytab: String?
        switch source {
        case .password: return try await client.initialCredential(for: principal, using: source, options: options)
        case .prompter:
            // A person may take minutes to answer, which the realm's other requests must not wait for.
            return try await clients.makeClient(for: principal.realm).initialCredential(for: principal, using: source, options: options)
        case .keytab(let name): keytab = name
        case .clientKeytab: keytab = nil
        }
        let flight = KeyFlight(principal: principal, keytab: keytab, options: options)
        return try await keyFlights.run(flight) { () async throws(KerberosError) in
            try await client.initialCredential(for: principal, using: source, options: options)
        }
    }
}

/// What sign-ins by a key must agree on to be one.
struct KeyFlight: Hashable {
    let principal: Principal
    /// Nil is the client keytab.
    let keytab: String?
    let options: InitialCredentialOptions
}
