internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO

extension DiagnosticStep {
    /// Where the realm's KDCs are: as configured, and as DNS says where it is asked.
    static let locations = DiagnosticStep.check("dns") { findings in
        guard let client = findings.client, let realm = findings.realm else { return .skipped("no realm is known.") }
        let order: KDCOrder
        do throws(KerberosError) {
            order = try await client.kdcOrder()
            findings.clockTolerance = try await client.clockTolerance()
            findings.followsClock = try await client.libdefault("kdc_timesync").map { $0 != "0" } ?? true
        } catch {
            return .failed(error.description)
        }
        let profile = findings.sso.kerberos.policy.configurations.filter { $0.realm == realm }.flatMap(\.preferredKDCs).map(\.mitSyntax)
        findings.locations = order.named.compactMap { entry in
            let source = profile.contains(entry) ? "preferredKDCs of the profile" : "krb5.conf"
            return KDCAddress(entry).map { LocatedKDC(address: $0, transports: KDCProbe.Transport.allCases, source: source) }
        }
        let hasProxy = findings.locations.count < order.named.count
        guard order.asksDNS else {
            guard !order.named.isEmpty else {
                return .failed(
                    "nothing says where the KDCs of \(realm) are: krb5.conf names none, and dns_lookup_kdc is false.",
                    remedy: "Name them: preferredKDCs in the profile, or kdc in [realms] of krb5.conf."
                )
            }
            guard !findings.locations.isEmpty else { return .skipped("a KDC proxy serves \(realm): it is not looked at by itself.") }
            return .skipped("DNS is not asked for KDCs: the profile or krb5.conf names \(order.named.count) of \(realm).")
        }
        async let udp = NameService.serviceRecords("_kerberos._udp.\(realm)", secondsPerServer: 1)
        async let tcp = NameService.serviceRecords("_kerberos._tcp.\(realm)", secondsPerServer: 1)
        let (byDatagram, byStream) = await (udp, tcp)
        let places = places(udp: byDatagram, tcp: byStream, of: realm)
        findings.locations += places.filter { place in !findings.locations.contains { $0.address == place.address } }
        guard order.named.isEmpty else {
            guard !places.isEmpty else { return .skipped("DNS names no KDC of \(realm) beside those of the profile.") }
            let preferred = hasProxy ? "the profile's" : order.named.joined(separator: ", ")
            return .ok("after \(preferred), DNS names the KDCs of \(realm): \(names(of: places)).")
        }
        return records(places, isSilent: byDatagram == .noAnswer || byStream == .noAnswer, of: realm)
    }

    private static func names(of places: [LocatedKDC]) -> String {
        Set(places.map(\.address.description)).sorted().joined(separator: ", ")
    }

    private static func places(udp: NameService.Records, tcp: NameService.Records, of realm: String) -> [LocatedKDC] {
        var places: [LocatedKDC] = []
        for (records, transport) in [(udp, KDCProbe.Transport.udp), (tcp, .tcp)] {
            guard case .found(let records) = records else { continue }
            let source = "the SRV record _kerberos._\(transport.rawValue.lowercased()).\(realm)"
            for record in records where !record.target.isEmpty {
                let address = KDCAddress(host: record.target, port: record.port)
                if let known = places.firstIndex(where: { $0.address == address }) {
                    places[known].transports.append(transport)
                } else {
                    places.append(LocatedKDC(address: address, transports: [transport], source: source))
                }
            }
        }
        return places
    }

    private static func records(_ places: [LocatedKDC], isSilent: Bool, of realm: String) -> Finding {
        guard places.isEmpty else { return .ok("DNS names the KDCs of \(realm): \(names(of: places)).") }
        if isSilent {
            return .failed(
                "no name server answers for _kerberos._udp.\(realm), and krb5.conf names no KDC.",
                remedy: "Check the network or the VPN: dig SRV _kerberos._udp.\(realm)"
            )
        }
        return .failed(
            "nothing says where the KDCs of \(realm) are: krb5.conf names none, and DNS has no SRV record _kerberos._udp.\(realm) "
                + "nor _kerberos._tcp.\(realm).",
            remedy: "Check the realm's spelling, or name its KDCs: preferredKDCs in the profile."
        )
    }

    /// Each KDC, by UDP and by TCP.
    static let keyDistributionCenters = DiagnosticStep("kdc", limit: .seconds(6)) { findings in
        guard let client = findings.client, let realm = findings.realm else { return [] }
        let places = Array(findings.locations.prefix(4))
        guard !places.isEmpty else { return [] }
        let session =
            await firstResult(within: .seconds(2)) { [sso = findings.sso] in try? await sso.sessions().session(realm: realm) } ?? nil
        let configured = findings.sso.kerberos.policy.configurations.first { $0.realm == realm }?.principalName
        findings.isGuess = session == nil && configured == nil
        let probe: KDCProbe
        do throws(KerberosError) {
            let standard = if let session { session.principal } else { try await findings.sso.kerberos.defaultPrincipal(realm: realm) }
            probe = try await client.probe(for: standard)
        } catch {
            return [DiagnosticCheck("kdc", .failed, error.description)]
        }
        let reports = await withTaskGroup(of: (Int, KDCReport).self) { group in
            for (index, place) in places.enumerated() { group.addTask { (index, await KDCReport(place, probe)) } }
            return await group.reduce(into: [KDCReport?](repeating: nil, count: places.count)) { $0[$1.0] = $1.1 }.compactMap { $0 }
        }
        let answers = reports.flatMap(\.answers)
        if let answer = answers.first(where: { $0.clockOffset != nil }) ?? answers.first { findings.answer = (probe.principal, answer) }
        return reports.map { $0.check(hasOthers: !answers.isEmpty) }
    }

    /// The KDC's clock and this machine's.
    static let clock = DiagnosticStep.check("clock") { findings in
        guard let answer = findings.answer?.answer else { return .skipped("no KDC answered.") }
        guard let offset = answer.clockOffset else { return .skipped("the KDC's answer does not tell its time.") }
        let difference = clockText(offset)
        let allowed = Int(findings.clockTolerance)
        let remedy = "Set this machine's clock: timedatectl set-ntp true"
        if abs(offset) > findings.clockTolerance {
            let text = "the KDC's clock is \(difference) this machine's; Kerberos allows \(allowed) seconds"
            guard findings.followsClock else { return .failed("\(text).", remedy: remedy) }
            // libkrb5 goes by the KDC's clock then. Certificates, Java and others do not.
            return .warning("\(text), and libkrb5 makes up for it (kdc_timesync); others may not.", remedy: remedy)
        }
        if abs(offset) > min(60, findings.clockTolerance / 2) {
            return .warning("the KDC's clock is \(difference) this machine's, of \(allowed) seconds that are allowed.", remedy: remedy)
        }
        return .ok("the KDC's clock is \(difference) this machine's.")
    }

    /// `12 s ahead of`.
    static func clockText(_ offset: Double) -> String {
        let seconds = Int(offset.rounded())
        return seconds == 0 ? "less than a second from" : "\(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind")"
    }

    /// Whether the KDC would give the principal a ticket at all.
    static let account = DiagnosticStep.check("account") { findings in
        guard let (principal, answer) = findings.answer else { return .skipped("no KDC answered.") }
        guard let refusal = answer.refusal else { return .ok("the KDC knows \(principal).") }
        let sentence = "\(principal): \(refusal.message)"
        if refusal.code == .unknownPrincipal, findings.isGuess {
            return .warning(sentence, remedy: "Say who signs in: ksso login NAME, or principalName in the profile.")
        }
        return .failed(sentence, remedy: refusal.code == .passwordExpired ? "Change the password: ksso passwd, or kpasswd" : nil)
    }
}
