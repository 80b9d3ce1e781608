internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

extension DiagnosticStep {
    /// Checks whether the host's name resolves, and to which canonical name.
    static let name = DiagnosticStep.check("name") { findings in
        guard let plan = findings.server.plan else { return .nothing }
        let host = plan.origin.host
        guard let answer = await firstResult(within: Duration.seconds(3).patient, { await NameService.host(host) }) else {
            return .failed(
                "the name service does not answer for \(host).",
                remedy: "Check the network, and the name servers of /etc/resolv.conf: getent hosts \(host)"
            )
        }
        guard let found = answer else {
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
