internal import AsyncHTTPClient
internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import NIOCore
internal import NIOHTTP1
internal import NegotiateAsyncHTTPClient
internal import SystemSupport

/// The answers of a KDC over each of its transports.
struct KDCReport: Sendable {
    let place: LocatedKDC
    /// The result of the lookup of the KDC's name.
    let lookup: NameService.Lookup
    let outcomes: [(transport: KDCProbe.Transport, outcome: KDCProbe.Outcome)]

    /// The time limit for one transport. Together with the name lookup it is below the step's limit.
    private static let limit = Duration.seconds(3)

    init(_ place: LocatedKDC, _ probe: KDCProbe) async {
        self.place = place
        lookup = await firstResult(within: Duration.seconds(1).patient) { await NameService.lookUp(place.address.host) } ?? .noAnswer
        guard let addresses = lookup.host?.addresses, !addresses.isEmpty else {
            outcomes = []
            return
        }
        let port = place.address.port
        async let udp = place.transports.contains(.udp) ? Self.ask(addresses, port: port, by: .udp, probe) : nil
        async let tcp = place.transports.contains(.tcp) ? Self.ask(addresses, port: port, by: .tcp, probe) : nil
        let found: [(KDCProbe.Transport, KDCProbe.Outcome?)] = [(.udp, await udp), (.tcp, await tcp)]
        outcomes = found.compactMap { transport, outcome in outcome.map { (transport, $0) } }
    }

    /// The first answer of the addresses of a KDC, because libkrb5 tries them all; if none answers, the outcome for the first address.
    private static func ask(
        _ addresses: [String],
        port: UInt16,
        by transport: KDCProbe.Transport,
        _ probe: KDCProbe
    ) async -> KDCProbe.Outcome? {
        let outcomes = await Array(addresses.prefix(4)).concurrentlyMapped {
            await probe.ask($0, port: port, by: transport, within: limit.patient)
        }
        return outcomes.first { if case .answered = $0 { true } else { false } } ?? outcomes.first
    }

    /// The answers, TCP's first, because it is more exact and libkrb5 uses TCP here.
    var answers: [KDCProbe.Answer] {
        outcomes.reversed().compactMap { if case .answered(let answer) = $0.outcome { answer } else { nil } }
    }

    func check(hasOthers: Bool) -> DiagnosticCheck {
        let name = "KDC \(place.address) (\(place.source))"
        guard lookup.host != nil else {
            let isUnknown = lookup == .unknown
            return DiagnosticCheck(
                "kdc",
                hasOthers ? .warning : .failed,
                "\(name): \(isUnknown ? "its name does not resolve" : "the name service does not answer for its name").",
                remedy: "Connect to the network or the VPN that resolves the name: getent hosts \(place.address.host)"
                    + (isUnknown ? "\n    If it resolves nowhere, correct the name in \(place.source)." : "")
            )
        }
        let texts = outcomes.map { "\($0.transport.rawValue) \($0.outcome.text)" }.joined(separator: ", ")
        guard answers.isEmpty else {
            let isWhole = answers.count == outcomes.count
            return DiagnosticCheck(
                "kdc",
                isWhole ? .ok : .warning,
                "\(name): \(texts).",
                remedy: isWhole ? nil : "The other transport works. To use this one as well, open its port in the firewall."
            )
        }
        return DiagnosticCheck(
            "kdc",
            hasOthers ? .warning : .failed,
            "\(name) does not answer: \(texts).",
            remedy: "Check the network or the VPN, whether a firewall blocks the port, and whether this is the KDC's address."
        )
    }
}

extension KDCProbe.Outcome {
    fileprivate var text: String {
        switch self {
        case .answered(let answer): "in \(answer.latency.milliseconds) ms"
        case .refused: "connection refused"
        case .noAnswer: "no answer"
        case .unreachable(let reason): reason
        case .notKerberos: "an answer that is not a Kerberos message"
        }
    }
}

/// The answer of a KDC proxy to a message for the realm's KDC ([MS-KKDCP]).
struct KDCProxyReport: Sendable {
    private enum Outcome: Sendable {
        case answered(KDCProbe.Outcome)
        case status(Int)
        case untrusted(String)
        case noAnswer(String)
        /// The URL is not https, which libkrb5 does not support; nothing was sent.
        case notHTTPS
    }

    private static let limit = Duration.seconds(4)
    /// The maximum length of an answer in bytes, which no ticket exceeds.
    private static let longestAnswer = 1 << 20

    private let place: LocatedKDCProxy
    private let outcome: Outcome

    init(_ place: LocatedKDCProxy, _ probe: KDCProbe) async {
        self.place = place
        outcome = place.url.hasPrefix("https://") ? await Self.ask(place.url, probe) : .notHTTPS
    }

    private static func ask(_ url: String, _ probe: KDCProbe) async -> Outcome {
        var configuration = NegotiatingHTTPClient.Configuration()
        configuration.negotiation.maximumRedirects = 0
        configuration.connections.timeout.connect = .seconds(3)
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/kerberos")
        request.body = .bytes(ByteBuffer(bytes: probe.proxyRequest))
        let start = ContinuousClock.now
        do {
            return try await NegotiatingHTTPClient.withClient(extension: NoSignOn(), configuration: configuration) {
                [request] client in
                let response = try await client.negotiate(request, timeout: limit.patient).response
                guard response.status == .ok else { return .status(Int(response.status.code)) }
                let answer = try await response.body.collect(upTo: longestAnswer)
                return .answered(await probe.outcome(ofProxyAnswer: Array(answer.readableBytesView), latency: start.duration(to: .now)))
            }
        } catch let error as HTTPTransportError where error.code == .tls {
            return .untrusted(error.message)
        } catch {
            return .noAnswer("\(error)")
        }
    }

    /// The answer of the KDC behind the proxy.
    var answer: KDCProbe.Answer? { if case .answered(.answered(let answer)) = outcome { answer } else { nil } }

    /// Whether libkrb5 can get tickets through this proxy.
    var isUsable: Bool { answer != nil && KDCProbe.libraryReachesProxies }

    func check(hasOthers: Bool) -> DiagnosticCheck {
        let name = "KDC proxy \(place.url) (\(place.source))"
        let verdict = hasOthers ? DiagnosticCheck.Verdict.warning : .failed
        switch outcome {
        case .notHTTPS:
            return DiagnosticCheck(
                "kdc",
                verdict,
                "\(place.url) (\(place.source)) is neither a KDC's address nor a KDC proxy's, so libkrb5 ignores it, "
                    + "and nothing was sent to it.",
                remedy: "Write host, host:port, or https://host/path for a proxy."
            )
        case .answered(.answered) where !KDCProbe.libraryReachesProxies:
            return DiagnosticCheck(
                "kdc",
                verdict,
                "\(name): a KDC answers behind it, but libkrb5 has no plugin for requests through a proxy.",
                remedy: "Install krb5-k5tls."
            )
        case .answered(.answered(let answer)):
            return DiagnosticCheck("kdc", .ok, "\(name): a KDC answers behind it in \(answer.latency.milliseconds) ms.")
        case .answered:
            let text = "\(name) accepts TLS connections, but its answer is not a KDC's message."
            return DiagnosticCheck("kdc", verdict, text, remedy: Self.pathRemedy)
        case .status(let status):
            let text = "\(name) accepts TLS connections, but does not forward messages to a KDC: it responds with status \(status)."
            return DiagnosticCheck("kdc", verdict, text, remedy: Self.pathRemedy)
        case .untrusted(let text):
            return DiagnosticCheck(
                "kdc",
                verdict,
                "\(name): \(text)",
                remedy: "Add the proxy's certificate authority to those that this machine trusts, "
                    + "or to http_anchors in krb5.conf, which libkrb5 uses instead if it is set."
            )
        case .noAnswer(let text):
            return DiagnosticCheck(
                "kdc",
                verdict,
                "\(name) does not answer: \(text)",
                remedy: "Check the network, and whether a firewall blocks the port."
            )
        }
    }

    private static let pathRemedy = "Check its address, including the path (most end in /KdcProxy), and that it serves this realm."
}

extension Duration {
    /// The duration in milliseconds with one decimal.
    var milliseconds: Double { (self / .microseconds(100)).rounded() / 10 }
}
