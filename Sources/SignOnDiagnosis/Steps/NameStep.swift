internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

extension DiagnosticStep {
    /// Checks whether the host's name resolves, and to which canonical name.
    static let name = DiagnosticStep.check("name", limit: .seconds(5)) { findings in
        guard let plan = findings.server.plan else { return .nothing }
        let host = plan.origin.host
        let answer = await firstResult(within: Duration.seconds(2).patient) { await NameService.lookUp(host) } ?? .noAnswer
        guard answer != .noAnswer else {
            guard await findings.resolvesNames() else { return .failed("\(host): \(Offline.text).", remedy: Offline.remedy) }
            return .failed(
                "the name service does not answer for \(host).",
                remedy: "Check the network, whether the VPN is connected, and the name servers of /etc/resolv.conf: getent hosts \(host)"
            )
        }
        guard let found = answer.host else {
            return .failed(
                "the name \(host) does not resolve.",
                remedy: "Check the spelling, the network, and whether the VPN provides its name servers: getent hosts \(host)"
            )
        }
        let addresses = found.addresses.prefix(3).joined(separator: ", ")
        guard found.canonicalName.lowercased() != host else { return .ok("\(host) is \(addresses).") }
        findings.server.canonicalName = found.canonicalName.lowercased()
        return .ok(
            "\(host) is an alias (CNAME) of \(found.canonicalName), \(addresses). The ticket is requested for HTTP/\(host); "
                + "programs that canonicalize names would request HTTP/\(found.canonicalName)."
        )
    }
}

/// The text for a machine that resolves no names.
enum Offline {
    static let text = "this machine resolves no names"
    static let remedy = "Connect to the network or the VPN. If the machine is connected, check the name servers in /etc/resolv.conf."
}

extension DiagnosticFindings {
    /// Returns whether a name server answers at all. The first answer is remembered.
    mutating func resolvesNames() async -> Bool {
        if let isAnswered = server.isAnsweredByNameService { return isAnswered }
        let limit = Duration.seconds(2).patient
        let isAnswered = await firstResult(within: limit) { await NameService.isAnswering(secondsPerServer: 1) } ?? false
        server.isAnsweredByNameService = isAnswered
        return isAnswered
    }
}
