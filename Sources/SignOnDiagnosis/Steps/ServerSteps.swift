internal import AsyncHTTPClient
internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NegotiateAsyncHTTPClient
internal import SystemSupport

extension DiagnosticStep {
    /// Checks the server's response to a request without a ticket.
    static let challenge = DiagnosticStep.check("challenge", limit: .seconds(5)) { findings in
        guard let url = findings.subject.url, let plan = findings.server.plan else { return .nothing }
        let response: HTTPClientResponse
        do {
            response = try await ask(url, NoSignOn(), findings.subject.tls).response
        } catch let error as HTTPTransportError where error.tlsFault == .withoutTLS {
            return await withoutTLS(error, url, "\(plan.origin)")
        } catch {
            return unreachable(error, "\(plan.origin)")
        }
        findings.server.isReached = true
        if let text = response.headers.first(name: "Date"), let date = HTTPDate.date(text) {
            // The `Date` field has a resolution of one second.
            let offset = date.timeIntervalSinceNow
            findings.server.clockOffset = abs(offset) < 2 ? 0 : offset
        }
        let answer = ServerAnswer(
            status: Int(response.status.code),
            challenges: response.headers["WWW-Authenticate"],
            proxyChallenges: response.headers["Proxy-Authenticate"],
            via: response.headers["Via"]
        )
        findings.server.isChallenged = answer.isChallenge
        return answer.finding(of: "\(plan.origin)")
    }

    /// The page `/` over plain http at the port of an https URL.
    private static func plainRoot(of url: URL) -> URL? {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return nil }
        (parts.scheme, parts.port, parts.path) = ("http", url.port ?? 443, "/")
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        return parts.url
    }

    /// Checks whether a port that does not use TLS speaks plain http. Asks for `/`, because the path and the query of an https URL may
    /// contain secrets, which must not be sent without TLS.
    private static func withoutTLS(_ error: HTTPTransportError, _ url: URL, _ origin: String) async -> Finding {
        guard let plain = plainRoot(of: url), (try? await ask(plain, NoSignOn(), nil)) != nil, let host = url.host() else {
            return .failed("\(error)", remedy: "Check the port of the URL.")
        }
        return .failed(
            "\(origin): this port speaks plain http, not https.",
            remedy: "Check the port of the URL; something on the network may also be responding in the server's place. "
                + "Only if you know that the server has no TLS, use http:// and list \(host) in PlainHTTPHosts of the profile."
        )
    }

    private static func unreachable(_ error: any Error, _ origin: String) -> Finding {
        let transport = error as? HTTPTransportError
        if let transport, transport.code == .tls {
            let advice = transport.tlsFault == .untrustedCertificate ? " To trust another authority, use: --cacert FILE" : ""
            return .failed(
                "\(error)",
                remedy:
                    "A proxy that intercepts TLS presents its own certificate. To see its issuer: "
                    + "openssl s_client -connect HOST:443.\(advice)"
            )
        }
        let isLate = transport?.code == .timedOut || (error as? AuthorizationError)?.code == .timedOut
        return .failed(
            isLate ? "\(origin) does not answer in time." : "\(error)",
            remedy: "Check that the server is running, and that this network reaches it: curl -v \(origin)"
        )
    }

    /// Checks the server's response to a request with a ticket.
    static let token = DiagnosticStep("token", limit: .seconds(5)) { findings in
        guard let url = findings.subject.url, let plan = findings.server.plan else { return [] }
        guard findings.server.isChallenged, findings.tickets.service != nil, let tickets = findings.tickets.copies else {
            let reason =
                switch (findings.server.isReached, findings.server.isChallenged) {
                case (false, _): "the server was not reached."
                case (true, false): "the server did not ask for Negotiate."
                case (true, true): "there is no ticket for the server."
                }
            return [DiagnosticCheck("token", .skipped, reason), DiagnosticCheck("mutualAuthentication", .skipped, reason)]
        }
        let unproven = DiagnosticCheck("mutualAuthentication", .skipped, "the server did not accept the ticket.")
        do {
            let answer = try await ask(url, findings.sso.inspection.makeExtension(over: tickets.cache), findings.subject.tls)
            guard case .authenticated = answer.delivery else {
                var reason = "the server did not request a ticket in this attempt."
                if case .refused(let text) = answer.delivery { reason = text }
                return [refusal(reason, findings), unproven]
            }
            let status = Int(answer.response.status.code)
            let taken = DiagnosticCheck("token", .ok, "the server accepted the ticket, and responded with status \(status).")
            let isProven = plan.mutualAuthentication == .required
            let detail =
                isProven ? "the server proved its identity." : "the profile does not require mutual authentication from this server."
            return [taken, DiagnosticCheck("mutualAuthentication", isProven ? .ok : .skipped, detail)]
        } catch {
            return failure(error, findings, unproven)
        }
    }

    private static func failure(_ error: any Error, _ findings: DiagnosticFindings, _ unproven: DiagnosticCheck) -> [DiagnosticCheck] {
        guard let error = error as? AuthorizationError, error.code == .mutualAuthenticationFailed || error.code == .invalidResponse else {
            return [refusal("\(error)", findings), unproven]
        }
        // A profile can accept a missing proof; an invalid one can only be accepted by not checking it at all.
        let key = error.code == .invalidResponse ? "NoMutualAuthenticationHosts" : "OptionalMutualAuthenticationHosts"
        return [
            DiagnosticCheck("token", .ok, "the server responded to the ticket."),
            DiagnosticCheck(
                "mutualAuthentication",
                .failed,
                error.message,
                remedy: "Another server may be responding in its place. "
                    + "If it is the right one and cannot prove its identity, list its host in "
                    + "\(key) of the profile."
            ),
        ]
    }

    /// Returns the check for a refused ticket. The server does not say why it refuses, but its `Date` field shows a wrong clock.
    private static func refusal(_ reason: String, _ findings: DiagnosticFindings) -> DiagnosticCheck {
        let center = findings.kdcs.answer?.answer.clockOffset ?? 0
        if let server = findings.server.clockOffset, abs(server - center) > findings.kdcs.clockTolerance {
            return DiagnosticCheck(
                "token",
                .failed,
                "the server did not accept the ticket: its clock is \(clockText(server - center)) the KDC's; Kerberos allows "
                    + "\(quantity(Int(findings.kdcs.clockTolerance), "second")).",
                remedy: "Set the server's clock."
            )
        }
        return DiagnosticCheck(
            "token",
            .failed,
            reason,
            remedy:
                "Check on the server that its keytab has the KDC's key: ksso doctor --keytab FILE URL; and check the server's log."
        )
    }

    private static func ask(
        _ url: URL,
        _ credentials: any CredentialExtension,
        _ tls: TLSConfiguration?
    ) async throws -> NegotiatedResponse {
        var configuration = NegotiatingHTTPClient.Configuration()
        configuration.negotiation.maximumRedirects = 0
        configuration.connections.timeout.connect = .seconds(3)
        configuration.connections.tlsConfiguration = tls
        var request = HTTPClientRequest(url: url.absoluteString)
        request.headers.add(name: "User-Agent", value: "ksso")
        return try await NegotiatingHTTPClient.withClient(extension: credentials, configuration: configuration) { [request] client in
            try await client.negotiate(request, timeout: Duration.milliseconds(4500).patient)
        }
    }
}

/// Answers no challenge, so that the server's response is visible as it was sent.
struct NoSignOn: CredentialExtension {
    func decision(for url: URL) -> AuthorizationDecision { .ignore([]) }

    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome { .notHandled([]) }
}

/// Parses the date of a response (RFC 9110 section 5.6.7) in the form that servers send.
private enum HTTPDate {
    static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}

/// The server's response to a request without a ticket.
struct ServerAnswer {
    let status: Int
    let challenges: [String]
    let proxyChallenges: [String]
    let via: [String]

    /// The start of each NTLM token ([MS-NLMP] section 2.2.1).
    private static let ntlm = Array("NTLMSSP\0".utf8)

    private var negotiate: NegotiateChallenge.Result { NegotiateChallenge.find(in: challenges) }

    /// Whether the server requests a ticket. A first challenge that already carries a token belongs to no exchange of this client.
    var isChallenge: Bool {
        guard status == 401, case .found(let challenge) = negotiate else { return false }
        return challenge.token == nil
    }

    private func proxyRemedy(_ origin: String) -> String {
        guard case .absent = NegotiateChallenge.find(in: proxyChallenges) else {
            return
                "If it is your organization's proxy, list it in ProxyHosts of the profile, and send the request through: ksso proxy run. "
                + "Otherwise exclude \(origin) from the proxy (no_proxy)."
        }
        return "Exclude \(origin) from the proxy (no_proxy), or sign in to the proxy. ksso has no credentials for these schemes."
    }

    func finding(of origin: String) -> Finding {
        let proxy = via.isEmpty ? "" : " The response came through a proxy (Via: \(via.joined(separator: ", ")))."
        if status == 407 || !proxyChallenges.isEmpty {
            return .failed(
                "a proxy requires its own sign-in: it responds with status \(status), and offers \(Self.schemes(proxyChallenges)).\(proxy)",
                remedy: proxyRemedy(origin)
            )
        }
        guard status == 401 else {
            return .warning(
                "\(origin) requires no sign-in at this address: it responds with status \(status).\(proxy)",
                remedy: "Specify a page that requires one. If the server is not meant to require a sign-in, nothing is wrong."
            )
        }
        switch negotiate {
        case .found(let challenge) where challenge.token?.starts(with: Self.ntlm) == true:
            return .failed("\(origin) requires NTLM: its Negotiate token begins with NTLMSSP.\(proxy)", remedy: Self.serverRemedy)
        case .found(let challenge) where challenge.token != nil:
            let text = "\(origin)'s first Negotiate challenge carries a token, so no ticket can answer it.\(proxy)"
            return .failed(text, remedy: Self.serverRemedy)
        case .found:
            return via.isEmpty ? .ok("\(origin) offers Negotiate.") : .warning("\(origin) offers Negotiate.\(proxy)")
        case .malformed(let reason):
            return .failed(
                "\(origin) requires a sign-in, but its challenge cannot be parsed: \(reason).\(proxy)",
                remedy: Self.serverRemedy
            )
        case .absent:
            let offered = AuthenticationChallenge.parse(challenges)
            let wantsNTLM = offered.contains { $0.hasScheme("NTLM") }
            let text = wantsNTLM ? "requires NTLM, and does not offer Negotiate" : "does not offer Negotiate"
            return .failed("\(origin) \(text): it offers \(Self.schemes(challenges)).\(proxy)", remedy: Self.serverRemedy)
        }
    }

    private static let serverRemedy =
        "Ask the server's administrator to enable Kerberos (Negotiate). ksso cannot sign in to a server without it."

    private static func schemes(_ fields: [String]) -> String {
        let schemes = AuthenticationChallenge.parse(fields).map { String($0.scheme.prefix(40)) }
        return schemes.isEmpty ? "nothing" : schemes.prefix(4).joined(separator: ", ")
    }
}
