internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import NIOSSL

/// What is asked, and what has been found out so far.
struct DiagnosticFindings: Sendable {
    /// The profiles and the engine.
    let sso: SingleSignOn
    /// The URL, where one was given.
    let url: URL?
    /// The keytab that was named.
    let keytab: String?
    /// The variables as the command was started with them.
    let environment: [String: String]
    /// Whose certificates the URL's server may show; nil is those that the machine trusts.
    var tls: TLSConfiguration?
    /// The realm whose KDCs and session are looked at: as given, else the plan's, else the default one; or the default credential's, where
    /// the profile leaves it to that who answers.
    var realm: String?
    /// The realm whose profile says who answers.
    var profileRealm: String?
    /// How the URL's challenge would be answered.
    var plan: AuthorizationPlan?
    /// The name that the URL's host is an alias of.
    var canonicalName: String?
    /// Where the realm's KDCs are.
    var locations: [LocatedKDC] = []
    /// What passes messages on to the realm's KDCs.
    var proxies: [LocatedKDCProxy] = []
    /// By how many seconds clocks may differ.
    var clockTolerance = 300.0
    /// Whether libkrb5 goes by the KDC's clock: `kdc_timesync`.
    var followsClock = true
    /// What the first KDC that answered said, and of whom.
    var answer: (principal: Principal, answer: KDCProbe.Answer)?
    /// Whether the principal of the answer was guessed from the user's name.
    var isGuess = false
    /// Whether the tickets are an agent's whose cache socket is lost.
    var isCacheLost = false
    /// Who is signed in.
    var session: Session?
    /// Copies of the user's tickets, for tries that leave his caches as they are.
    var tickets: PrivateTickets?
    /// A ticket for the URL's service.
    var serviceTicket: Credential?
    /// Whether the server asked for Negotiate.
    var isChallenged = false
    /// By how many seconds the server's clock is ahead of this machine's, by its `Date`.
    var serverClockOffset: Double?

    /// What the profile says of the realm, or of the URL's host.
    var configuration: ExtensionConfiguration? {
        plan?.configuration ?? sso.kerberos.policy.configurations.first { $0.realm == profileRealm ?? realm }
    }

    /// Turns to the realm of libkrb5's default credential where the profile leaves it to that who answers; a silent cache is not waited for
    /// for long.
    ///
    /// - Returns: That credential's principal; nil where the profile does not, or nobody is signed in.
    mutating func followDefaultCredential() async -> Principal? {
        profileRealm = realm
        guard configuration?.credentialUseMode == .kerberosDefault else { return nil }
        let list = await firstResult(within: Duration.seconds(2).patient) { [sso] in try? await sso.sessions() } ?? nil
        guard let principal = list?.primary?.principal else { return nil }
        realm = principal.realm
        return principal
    }

    /// libkrb5 for the realm.
    var client: KerberosClient? { realm.map { sso.kerberos.diagnosticClient(for: $0) } }
}

/// Where a KDC is, and who says so.
struct LocatedKDC: Sendable, Hashable {
    let address: KDCAddress
    var transports: [KDCProbe.Transport]
    /// krb5.conf, or the record of DNS.
    let source: String
}

/// Where a KDC proxy is ([MS-KKDCP]), and who says so.
struct LocatedKDCProxy: Sendable, Hashable {
    let url: String
    let source: String
}

extension DiagnosticFindings {
    /// Notes an entry of krb5.conf or of a profile: a KDC, or the URL of a KDC proxy.
    mutating func add(_ entry: String, source: String) {
        if let address = KDCAddress(entry) {
            locations.append(LocatedKDC(address: address, transports: KDCProbe.Transport.allCases, source: source))
        } else {
            proxies.append(LocatedKDCProxy(url: entry, source: source))
        }
    }

    /// Notes what DNS says beside.
    mutating func add(_ records: KDCRecords) {
        locations += records.places.filter { place in !locations.contains { $0.address == place.address } }
        proxies += records.proxies.filter { proxy in !proxies.contains { $0.url == proxy.url } }
    }
}

/// Copies of a user's ticket-granting tickets in a cache of this process's memory, which goes with them.
final class PrivateTickets: Sendable {
    let cache: CredentialCacheName

    init(copying session: Session, with client: KerberosClient) async throws(KerberosError) {
        let contents = try await client.contents(of: session.cache)
        cache = CredentialCacheName(rawValue: "MEMORY:ksso-doctor-\(UInt64.random(in: .min ... .max))")
        try await client.replace(
            cache,
            principal: contents.principal,
            credentials: contents.credentials.filter { $0.client == contents.principal && $0.server.isTicketGrantingService },
            clockOffset: contents.clockOffset
        )
    }

    deinit { cache.destroyMemory() }
}
