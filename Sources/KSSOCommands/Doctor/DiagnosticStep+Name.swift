internal import HTTPNegotiate
internal import Kerberos

extension DiagnosticStep {
    /// Whether the name service knows the host, and by which name.
    static let name = DiagnosticStep.check("name") { findings in
        guard let plan = findings.plan else { return .nothing }
        let host = plan.origin.host
        guard let answer = await firstResult(within: Duration.seconds(3).patient, { await NameService.host(host) }) else {
            return .failed(
                "the name service does not answer for \(host).",
                remedy: "Check the network, and the name servers of /etc/resolv.conf: getent hosts \(host)"
            )
        }
        guard let found = answer else {
            return .failed(
                "no address is known for \(host): its name does not resolve.",
                remedy: "Check the spelling, the network, and whether the VPN brings its name servers: getent hosts \(host)"
            )
        }
        let addresses = found.addresses.prefix(3).joined(separator: ", ")
        guard found.canonicalName.lowercased() != host else { return .ok("\(host) is \(addresses).") }
        findings.canonicalName = found.canonicalName.lowercased()
        return .ok(
            "\(host) is an alias (CNAME) of \(found.canonicalName), \(addresses). A ticket is asked for HTTP/\(host) all the same; "
                + "programs that canonicalise names would ask for HTTP/\(found.canonicalName)."
        )
    }
}
