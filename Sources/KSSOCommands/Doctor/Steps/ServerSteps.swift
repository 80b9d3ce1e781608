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

extension DiagnosticStep {
    /// Checks the server's response to a request without a ticket.
    static let challenge = DiagnosticStep.check("challenge", limit: .seconds(5)) { findings in
        guard let url = findings.url, let plan = findings.plan else { return .nothing }
        let response: HTTPClientResponse
        do {
            response = try await ask(url, NobodyAnswers(), findings.tls).response
        } catch {
            return unreachable(error, "\(plan.origin)")
        }
        if let text = response.headers.first(name: "Date"), let date = HTTPDate.date(text) {
            // The `Date` field has a resolution of one second.
            let offset = date.timeIntervalSinceNow
            findings.serverClockOffset = abs(offset) < 2 ? 0 : offset
        }
        let answer = ServerAnswer(
            status: Int(response.status.code),
            challenges: response.headers["WWW-Authenticate"],
            proxyChallenges: response.headers["Proxy-Authenticate"],
            via: response.headers["Via"]
        )
        findings.isChallenged = answer.isChallenge
        return answer.finding(of: "\(plan.origin)")
    }

    private static func unreachable(_ error: any Error, _ origin: String) -> Finding {
        let transport = error as? HTTPTransportError
        if let transport, transport.code == .tls {
            let advice = transport.isOfTrust ? " \(TrustOptions.advice)" : ""
            return .failed(
                "\(error)",
                remedy:
                    "A proxy that opens TLS shows a certificate of its own. To see whose it is: openssl s_client -connect HOST:443.\(advice)"
            )
        }
        let isLate = transport?.code == .timedOut || (error as? AuthorizationError)?.code == .timedOut
        return .failed(
            isLate ? "\(origin) does not answer in time." : "\(error)",
            remedy: "Check that the server runs, and that this network reaches it: curl -v \(origin)"
        )
    }

    /// Checks the server's response to a request with a ticket.
    static let token = DiagnosticStep("token", limit: .seconds(5)) { findings in
        guard let url = findings.url, let plan = findings.plan else { return [] }
        guard findings.isChallenged, findings.serviceTicket != nil, let tickets = findings.tickets else {
            let reason = findings.isChallenged ? "there is no ticket for the server." : "the server did not ask for Negotiate."
            return [DiagnosticCheck("token", .skipped, reason), DiagnosticCheck("mutualAuthentication", .skipped, reason)]
        }
        let unproven = DiagnosticCheck("mutualAuthentication", .skipped, "the server did not take the ticket.")
        do {
            let answer = try await ask(url, findings.sso.kerberos.copy(over: tickets.cache), findings.tls)
            guard case .authenticated = answer.delivery else {
                var reason = "the server asked for no ticket when it could have had one."
                if case .refused(let text) = answer.delivery { reason = text }
                return [refusal(reason, findings), unproven]
            }
            let status = Int(answer.response.status.code)
            let taken = DiagnosticCheck("token", .ok, "the server took the ticket, and answers \(status).")
            let isProven = plan.mutualAuthentication == .required
            let detail = isProven ? "the server proved itself." : "the profile does not ask this server to prove itself."
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
            DiagnosticCheck("token", .ok, "the server answered the ticket."),
            DiagnosticCheck(
                "mutualAuthentication",
                .failed,
                error.message,
                remedy: "Another server may be answering in its place. If it is the right one and cannot prove itself, list its host in "
                    + "\(key) of the profile."
            ),
        ]
    }

    /// Returns the check for a refused ticket. The server does not say why it refuses, but its `Date` field shows a wrong clock.
    private static func refusal(_ reason: String, _ findings: DiagnosticFindings) -> DiagnosticCheck {
        let center = findings.answer?.answer.clockOffset ?? 0
        if let server = findings.serverClockOffset, abs(server - center) > findings.clockTolerance {
            return DiagnosticCheck(
                "token",
                .failed,
                "the server did not take the ticket: its clock is \(clockText(server - center)) the KDC's; Kerberos allows "
                    + "\(Int(findings.clockTolerance)) seconds.",
                remedy: "Set the server's clock."
            )
        }
        return DiagnosticCheck(
            "token",
            .failed,
            reason,
            remedy:
                "See whether the server's keytab has the KDC's key, on the server: ksso doctor --keytab FILE URL; and what its log says."
        )
    }

    private static func ask(
        _ url: URL,
        _ credentials: any CredentialExtension,
        _ tls: TLSConfiguration?
    ) async throws -> NegotiatedResponse {
        var configuration = NegotiatingHTTPClient.Configuration()
        configuration.maximumRedirects = 0
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
struct NobodyAnswers: CredentialExtension {
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

    func finding(of origin: String) -> Finding {
        let proxy = via.isEmpty ? "" : " The answer came by a proxy (Via: \(via.joined(separator: ", ")))."
        if status == 407 || !proxyChallenges.isEmpty {
            return .failed(
                "a proxy stands in between and wants a sign-in of its own: it answers \(status), and offers \(Self.schemes(proxyChallenges)).\(proxy)",
                remedy: "Let \(origin) go past the proxy (no_proxy), or sign in to the proxy. No ticket is sent to one."
            )
        }
        guard status == 401 else {
            return .warning(
                "\(origin) asks for no sign-in at this address: it answers \(status).\(proxy)",
                remedy: "Name a page that asks for one. A server that must not ask is as it should be."
            )
        }
        switch negotiate {
        case .found(let challenge) where challenge.token?.starts(with: Self.ntlm) == true:
            return .failed("\(origin) wants NTLM: its Negotiate token begins with NTLMSSP.\(proxy)", remedy: Self.serverRemedy)
        case .found(let challenge) where challenge.token != nil:
            let text = "\(origin)'s first Negotiate challenge carries a token, so no ticket can answer it.\(proxy)"
            return .failed(text, remedy: Self.serverRemedy)
        case .found:
            return via.isEmpty ? .ok("\(origin) asks for Negotiate.") : .warning("\(origin) asks for Negotiate.\(proxy)")
        case .malformed(let reason):
            return .failed("\(origin) asks for a sign-in that can't be read: \(reason).\(proxy)", remedy: Self.serverRemedy)
        case .absent:
            let offered = AuthenticationChallenge.parse(challenges)
            let wantsNTLM = offered.contains { $0.hasScheme("NTLM") }
            let text = wantsNTLM ? "wants NTLM, and does not offer Negotiate" : "does not offer Negotiate"
            return .failed("\(origin) \(text): it offers \(Self.schemes(challenges)).\(proxy)", remedy: Self.serverRemedy)
        }
    }

    private static let serverRemedy = "Have Kerberos (Negotiate) switched on in the server's settings; a server without it can't be helped."

    private static func schemes(_ fields: [String]) -> String {
        let schemes = AuthenticationChallenge.parse(fields).map { String($0.scheme.prefix(40)) }
        return schemes.isEmpty ? "nothing" : schemes.prefix(4).joined(separator: ", ")
    }
}
