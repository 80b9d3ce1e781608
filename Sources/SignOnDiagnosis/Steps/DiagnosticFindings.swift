internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

/// The input of a diagnosis and the results of its steps so far.
struct DiagnosticFindings: Sendable {
    /// The profiles and the engine.
    let sso: SingleSignOn
    let subject: Doctor.Subject
    /// The realm whose KDCs and session are checked: the given one, else the plan's, else the default realm. If the profile lets libkrb5's
    /// default credential answer, the realm of that credential.
    var realm: String?
    /// The realm whose profile determines the principal that answers.
    private var profileRealm: String?
    var kdcs = KDCFindings()
    var tickets = TicketFindings()
    var server = ServerFindings()

    /// Creates the input of a diagnosis. The spelling of a realm is looked up in the caches too, which may be slow to answer.
    init(_ subject: Doctor.Subject, _ sso: SingleSignOn) async {
        self.sso = sso
        self.subject = subject
        guard subject.url == nil, let realm = subject.realm else { return }
        self.realm = await firstResult(within: Duration.seconds(2).patient) { await sso.names.knownRealm(realm) } ?? realm
    }

    /// The configuration of the realm, or of the URL's host.
    var configuration: ExtensionConfiguration? {
        server.plan?.configuration ?? sso.policy.configurations.first { $0.realm == profileRealm ?? realm }
    }

    /// Selects the realm of libkrb5's default credential if the profile lets that credential answer. It waits only briefly for a cache that
    /// does not answer.
    ///
    /// - Returns: The credential's principal; nil if the profile names a principal or no one is signed in.
    mutating func followDefaultCredential() async -> Principal? {
        profileRealm = realm
        guard configuration?.credentialUseMode == .kerberosDefault else { return nil }
        let list = await firstResult(within: Duration.seconds(2).patient) { [sso] in try? await sso.sessions() } ?? nil
        guard let principal = list?.primary?.principal else { return nil }
        realm = principal.realm
        return principal
    }

    /// A libkrb5 client for the realm.
    var client: KerberosClient? { realm.map { sso.inspection.client(for: $0) } }
}

/// What is known about the realm's KDCs.
struct KDCFindings: Sendable {
    /// The locations of the realm's KDCs.
    var locations: [LocatedKDC] = []
    /// The proxies of the realm's KDCs.
    var proxies: [LocatedKDCProxy] = []
    /// The permitted clock skew in seconds.
    var clockTolerance = 300.0
    /// Whether libkrb5 adjusts to the KDC's clock (`kdc_timesync`).
    var followsClock = true
    /// The first answer of a KDC, and the principal that it is about.
    var answer: (principal: Principal, answer: KDCProbe.Answer)?
    /// How far the clock of each KDC that answered with its time is ahead of this machine's, in seconds.
    var clocks: [(kdc: String, offset: Double)] = []
    /// Whether the principal of the answer was derived from the user's name.
    var isGuess = false
    /// Whether a principal of the realm has a valid ticket.
    var isSignedIn = false
}

/// What is known about the user's tickets.
struct TicketFindings: Sendable {
    /// Whether the tickets are an agent's whose cache socket is lost.
    var isCacheLost = false
    /// Who is signed in.
    var session: Session?
    /// Copies of the user's tickets, so that attempts do not change the user's caches.
    var copies: PrivateTickets?
    /// A ticket for the URL's service.
    var service: Credential?
}

/// What is known about the URL's server.
struct ServerFindings: Sendable {
    /// The plan that answers the URL's challenge.
    var plan: AuthorizationPlan?
    /// The canonical name, if the URL's host is an alias.
    var canonicalName: String?
    /// Whether a name server answers queries; nil if that was not checked.
    var isAnsweredByNameService: Bool?
    /// Whether the server responded to a request.
    var isReached = false
    /// Whether the server sent a Negotiate challenge.
    var isChallenged = false
    /// By how many seconds the server's clock is ahead of this machine's, according to its `Date` field.
    var clockOffset: Double?
}

/// The location of a KDC and its source.
struct LocatedKDC: Sendable, Hashable {
    let address: KDCAddress
    var transports: [KDCProbe.Transport]
    /// krb5.conf, the profile, or the DNS record.
    let source: String
}

/// The URL of a KDC proxy ([MS-KKDCP]) and its source.
struct LocatedKDCProxy: Sendable, Hashable {
    let url: String
    let source: String
}

extension KDCFindings {
    /// Whether no source lists a KDC or a KDC proxy.
    var isEmpty: Bool { locations.isEmpty && proxies.isEmpty }

    /// Adds an entry of krb5.conf or of a profile: a KDC, or the URL of a KDC proxy.
    mutating func add(_ entry: String, source: String) {
        if let address = KDCAddress(entry) {
            locations.append(LocatedKDC(address: address, transports: KDCProbe.Transport.allCases, source: source))
        } else {
            proxies.append(LocatedKDCProxy(url: entry, source: source))
        }
    }

    /// Adds the KDCs that only DNS lists.
    mutating func add(_ records: KDCRecords) {
        locations += records.places.filter { place in !locations.contains { $0.address == place.address } }
        proxies += records.proxies.filter { proxy in !proxies.contains { $0.url == proxy.url } }
    }
}

/// Copies of a user's ticket-granting tickets in a memory cache of this process, destroyed with this object.
final class PrivateTickets: Sendable {
    let cache: CredentialCacheName

    init(copying session: Session, with client: KerberosClient) async throws(KerberosError) {
        let contents = try await client.contents(of: session.cache)
        cache = CredentialCacheName(rawValue: "MEMORY:ksso-doctor-\(UInt64.random(in: .min ... .max))")
        try await client.replace(
            cache,
            principal: contents.principal,
            credentials: contents.credentials.filter { $0.client == contents.principal && $0.server.isTicketGrantingService },
            clockOffset: contents.clockOffset(at: Date())
        )
    }

    deinit { cache.destroyMemory() }
}
