internal import HTTPNegotiate
internal import Kerberos

/// What one KDC said, by each of the transports that it was to be asked by.
struct KDCReport: Sendable {
    let place: LocatedKDC
    /// Its address; nil where its name does not resolve.
    let address: String?
    let outcomes: [(transport: KDCProbe.Transport, outcome: KDCProbe.Outcome)]

    /// How long one transport may take: name and answer together stay below the step's limit.
    private static let limit = Duration.seconds(3)

    init(_ place: LocatedKDC, _ probe: KDCProbe) async {
        self.place = place
        address =
            await firstResult(within: Duration.seconds(1).patient) { await NameService.host(place.address.host)?.addresses.first } ?? nil
        guard let address else {
            outcomes = []
            return
        }
        let port = place.address.port
        async let udp = place.transports.contains(.udp) ? probe.ask(address, port: port, by: .udp, within: Self.limit.patient) : nil
        async let tcp = place.transports.contains(.tcp) ? probe.ask(address, port: port, by: .tcp, within: Self.limit.patient) : nil
        let found: [(KDCProbe.Transport, KDCProbe.Outcome?)] = [(.udp, await udp), (.tcp, await tcp)]
        outcomes = found.compactMap { transport, outcome in outcome.map { (transport, $0) } }
    }

    /// The answers, TCP's first: its way is the more exact, and it is what libkrb5 uses here.
    var answers: [KDCProbe.Answer] {
        outcomes.reversed().compactMap { if case .answered(let answer) = $0.outcome { answer } else { nil } }
    }

    func check(hasOthers: Bool) -> DiagnosticCheck {
        let name = "KDC \(place.address) (\(place.source))"
        guard address != nil else {
            return DiagnosticCheck(
                "kdc",
                hasOthers ? .warning : .failed,
                "\(name): its name does not resolve.",
                remedy: "Correct what names it: \(place.source)."
            )
        }
        let texts = outcomes.map { "\($0.transport.rawValue) \($0.outcome.text)" }.joined(separator: ", ")
        guard answers.isEmpty else {
            let isWhole = answers.count == outcomes.count
            return DiagnosticCheck(
                "kdc",
                isWhole ? .ok : .warning,
                "\(name): \(texts).",
                remedy: isWhole ? nil : "The other transport serves. Open the port in the firewall if it shall."
            )
        }
        return DiagnosticCheck(
            "kdc",
            hasOthers ? .warning : .failed,
            "\(name) does not answer: \(texts).",
            remedy: "Check the network or the VPN, whether a firewall lets the port through, and that this is where the KDC is."
        )
    }
}

extension KDCProbe.Outcome {
    fileprivate var text: String {
        switch self {
        case .answered(let answer): "in \(answer.latency.milliseconds) ms"
        case .refused: "nothing listens there"
        case .noAnswer: "no answer"
        case .unreachable(let reason): reason
        case .notKerberos: "an answer that is not Kerberos"
        }
    }
}
