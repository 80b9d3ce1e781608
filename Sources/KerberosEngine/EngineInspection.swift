package import ActiveDirectory
package import Kerberos
package import SignOnPolicy

package import protocol HTTPNegotiate.CredentialExtension

/// Access to an engine's clients, domain controllers and service tickets, for diagnosis. Its own calls change no session.
package struct EngineInspection: Sendable {
    fileprivate let clients: RealmClients
    fileprivate let tickets: ServiceTickets
    fileprivate let names: PrincipalNames
    fileprivate let accounts: AccountReadings

    /// The client for the credential caches.
    package var cacheClient: KerberosClient { clients.local }

    /// A client for a realm, configured as for requests: with the profile's KDCs and the krb5.conf of the options.
    package func client(for realm: String) -> KerberosClient { clients.makeClient(for: realm) }

    /// Locates the controllers of a realm's Active Directory domain, by DNS and by asking them; nil if DNS lists none, or if the profile
    /// forbids to look for them. The answer is remembered for a while.
    package func domainLocation(of realm: String) async -> DomainLocation? { await clients.controllers(of: realm)?.location() }

    /// The site of this machine in a realm, without using the network: the profile's, or the one that the domain assigned to the current
    /// network the last time that it was asked.
    package func knownSite(of realm: String) async -> String? { await clients.controllers(of: realm)?.knownSite() }

    /// The service principal that a session's principal requests a ticket for to answer a plan's challenge.
    ///
    /// - Parameter client: The client of the session's realm that looks up the realm of the host.
    package func service(
        of plan: AuthorizationPlan,
        for session: Session,
        client: KerberosClient
    ) async throws(KerberosError) -> Principal {
        try await tickets.service(of: plan, for: session, client: client)
    }

    /// The names of the accounts that have a service principal name, as the directory of a session's domain says; nil if the realm is not
    /// an Active Directory domain. The session's cache keeps the ticket for the controller.
    package func accounts(ofService service: Principal, for session: Session) async throws(DirectoryError) -> [String]? {
        try await accounts.accounts(ofService: service, for: session)
    }

    /// The service ticket in a session's cache, if there is one that is usable. If the plan names no realm, a ticket of any realm matches.
    package func cachedTicket(for plan: AuthorizationPlan, session: Session) async -> Credential? {
        await tickets.cachedTicket(for: plan, session: session)
    }

    /// An extension with the same profiles and another cache, so that the user's own caches stay unchanged.
    package func makeExtension(over cache: CredentialCacheName) -> any CredentialExtension {
        var options = clients.options
        options.defaultCacheName = cache.rawValue
        options.cacheSocket = nil
        options.additionalCacheDirectory = nil
        options.prompter = nil
        options.secretStore = nil
        return KerberosExtension(options)
    }

    /// Returns whether a KDC of a realm answers. Sends the first request of an initial authentication and never completes it.
    ///
    /// No password and no key is sent, so that no account can be locked.
    ///
    /// - Parameters:
    ///   - realm: The realm.
    ///   - name: A principal of the realm, for which the KDC sees an unfinished sign-in; nil is the realm's own `krbtgt` principal.
    ///   - deadline: How long to wait for an answer.
    package func reachesKDC(of realm: String, askingFor name: String? = nil, deadline: Duration = .seconds(4)) async -> Bool {
        do throws(KerberosError) {
            let principal = try await names.principal(name ?? "krbtgt/\(realm)@\(realm)", realm: realm)
            // A separate client does not wait for the realm's other requests, does not delay them, and sees the current network.
            let client = clients.makeClient(for: realm, isProtected: false)
            _ = try await client.initialCredential(for: principal, using: .prompter(FixedAnswer(nil)), options: .init(deadline: deadline))
            return true
        } catch {
            return ![.kdcUnreachable, .realmUnknown, .canceled, .configurationInvalid].contains(error.code)
        }
    }
}

extension KerberosExtension {
    /// What this extension uses, for diagnosis.
    package var inspection: EngineInspection {
        EngineInspection(clients: clients, tickets: tokens.tickets, names: names, accounts: passwords.accounts)
    }
}
