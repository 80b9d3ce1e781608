internal import HTTPNegotiate
internal import SignOnPolicy

internal import struct Foundation.URL

/// The tickets that one request may use at origins: those of the profile, or none.
///
/// A browser sends the requests of every page through the proxy. A page of another web site could have a ticket spent, and could read the
/// answer if the origin permits that (CORS), so a request with the `Origin` of another site gets no ticket. Browsers send no `Origin` with
/// a cross-site GET whose answer the page cannot read, such as a link or an image: these requests get tickets, as in a browser that
/// is configured for Negotiate.
struct OriginCredentials: CredentialExtension {
    let credentials: any CredentialExtension
    /// Why the request gets no ticket; nil if the profile decides.
    let refusal: String?

    func decision(for url: URL) -> AuthorizationDecision {
        guard let refusal else { return credentials.decision(for: url) }
        return .ignore(Self.reasons(refusal))
    }

    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        guard let refusal else { return try await credentials.beginAuthorization(with: request) }
        return .notHandled(Self.reasons(refusal))
    }

    func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        refusal == nil ? try await credentials.identity(for: request) : nil
    }

    func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
        refusal == nil ? await credentials.readyGrant(for: request) : nil
    }

    private static func reasons(_ refusal: String) -> [DecisionReason] {
        [DecisionReason(rule: "hostRule", verdict: .failed, detail: refusal)]
    }

    /// Why a client's request gets no ticket at an origin, whatever the profile says; nil if it may get one.
    static func refusal(of head: RequestHead, by user: UInt32, to origin: Origin) -> String? {
        guard user == PeerUser.own else {
            return "User \(user) gets no ticket for web servers from this proxy, which belongs to another user. "
                + "Start a proxy of your own: ksso proxy run"
        }
        // Browsers say so to https servers and to this machine. A link or an address that the user typed is a navigation.
        if let site = head.fields["Sec-Fetch-Site"].first, site == "cross-site" || site == "same-site",
            head.fields["Sec-Fetch-Mode"] != ["navigate"]
        {
            return
                "The request is from a page of another web site (Sec-Fetch-Site: \(site)), and only pages of \(origin) get a ticket there."
        }
        let sources = head.fields["Origin"]
        guard let source = sources.first, sources.count > 1 || (try? Origin(url: source)) != origin else { return nil }
        return
            "The request is from a page of another web site (Origin: \(source.prefix(200))), and only pages of \(origin) get a ticket there."
    }
}

/// A ticket of an origin would go through an upstream proxy that the profile does not name. Nothing of the request was sent.
struct UncoveredRoute: Error {
    let server: ProxyServer

    var refusal: String {
        "The route leads through the proxy \(server), and web servers get tickets only through proxies that ProxyHosts of the profile covers."
    }
}
