internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SystemSupport

extension DiagnosticStep {
    /// Locates the controllers of the realm's Active Directory domain as a sign-in does. Says nothing
    /// about another realm.
    static let site = DiagnosticStep.check("site", limit: .seconds(6)) { findings in
        guard let client = findings.client, let realm = findings.realm, let order = try? await client.kdcOrder(), order.asksDNS else {
            return .nothing
        }
        let configured = findings.sso.policy.configurations.lazy.filter { $0.realm == realm }.compactMap(\.siteCode).first
        if let configured, let finding = await missing(configured, of: realm) { return finding }
        guard let location = await findings.sso.inspection.domainLocation(of: realm) else { return .nothing }
        return finding(location, of: realm, configured: configured)
    }

    /// The finding if DNS lists no controller for the profile's site, or does not answer.
    private static func missing(_ site: String, of realm: String) async -> Finding? {
        let name = DomainLocation.recordName(site: site, realm: realm)
        switch await NameService.serviceRecords(name, secondsPerServer: 1) {
        case .found: return nil
        case .noAnswer: return .skipped("no name server answers for \(name).")
        case .none:
            return .failed(
                "the profile names the site \(site) (siteCode), but DNS lists no controller for it: there is no SRV record \(name).",
                remedy: "Correct siteCode, or remove it so that the domain is asked."
            )
        }
    }

    private static func finding(_ location: DomainLocation, of realm: String, configured: String?) -> Finding {
        let controllers = location.controllers.prefix(4).map(text).joined(separator: ", ")
        let others = location.controllers.count > 4 ? " and \(location.controllers.count - 4) more" : ""
        guard location.controllers.contains(where: { $0.latency != nil }) else {
            return .warning(
                "no controller of \(realm) answers over UDP port 389, so the nearest one is unknown: \(controllers)\(others).",
                remedy:
                    "Allow UDP port 389 to the controllers, or list the nearest ones in the profile under ExtensionData (preferredKDCs)."
            )
        }
        let list = "the controllers of \(realm) in the order of a sign-in: \(controllers)\(others)."
        guard let site = location.site else {
            return .warning(
                "the domain assigns no site to this machine's network; \(list)",
                remedy: "Assign the subnet to a site in the domain (Active Directory Sites and Services), or name the site in the profile "
                    + "under ExtensionData (siteCode)."
            )
        }
        return .ok("the site is \(site)\(configured == nil ? "" : ", which the profile names"); \(list)")
    }

    /// The address, and the time of an answer. The others are not called silent, because those of other sites are not asked.
    private static func text(_ controller: DomainLocation.Controller) -> String {
        "\(controller.address)\(controller.latency.map { " (\($0.milliseconds) ms)" } ?? "")"
    }
}
