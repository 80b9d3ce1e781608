internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SystemSupport

extension DiagnosticStep {
    /// Finds the realm's KDCs: those that are configured, and those in DNS if it is used.
    static let locations = DiagnosticStep.check("dns", limit: .seconds(6)) { findings in
        guard let client = findings.client, let realm = findings.realm else { return .skipped("no realm is known.") }
        let order: KDCOrder
        do throws(KerberosError) {
            order = try await client.kdcOrder()
            findings.kdcs.clockTolerance = try await client.clockTolerance()
            findings.kdcs.followsClock = try await client.libdefault("kdc_timesync").map { $0 != "0" } ?? true
        } catch {
            return .failed(error.description)
        }
        let profile = findings.sso.policy.configurations.filter { $0.realm == realm }.flatMap(\.preferredKDCs).map(\.mitSyntax)
        for entry in order.named {
            findings.kdcs.add(entry, source: profile.contains(entry) ? "preferredKDCs of the profile" : "krb5.conf")
        }
        guard order.asksDNS else {
            guard !order.named.isEmpty else {
                return .failed(
                    "the KDCs of \(realm) are unknown: krb5.conf lists none, and dns_lookup_kdc is false.",
                    remedy: "List them in the profile under ExtensionData (preferredKDCs: [kdc.corp.example]) or in krb5.conf."
                )
            }
            return .skipped("DNS is not queried for KDCs, because the profile or krb5.conf lists \(order.named.count) for \(realm).")
        }
        let isAskedForURI = (try? await client.libdefault("dns_uri_lookup")).map(ConfigurationBoolean.isNotFalse) ?? true
        let records = await KDCRecords(of: realm, asksForURI: isAskedForURI)
        findings.kdcs.add(records)
        if order.named.isEmpty, records.isSilent, findings.kdcs.isEmpty, await !findings.resolvesNames() {
            return .failed("\(Offline.text), so the KDCs of \(realm) are unknown.", remedy: Offline.remedy)
        }
        return order.named.isEmpty ? records.finding : records.finding(after: order.named)
    }

    /// Checks each KDC over UDP and TCP, and each KDC proxy.
    static let keyDistributionCenters = DiagnosticStep("kdc", limit: .seconds(6)) { findings in
        guard let client = findings.client, let realm = findings.realm else { return [] }
        let places = Array(findings.kdcs.locations.prefix(4))
        let proxies = findings.kdcs.proxies.prefix(2)
        guard !places.isEmpty || !proxies.isEmpty else { return [] }
        let session =
            await firstResult(within: Duration.seconds(2).patient) { [sso = findings.sso] in
                try? await sso.sessions().defaultSession(realm: realm)
            } ?? nil
        let configuration = findings.sso.policy.configurations.first { $0.realm == realm }
        findings.kdcs.isSignedIn = session?.isSignedIn == true
        findings.kdcs.isGuess = session == nil && configuration?.principalName == nil && configuration?.userPrincipal == nil
        let probe: KDCProbe
        do throws(KerberosError) {
            let standard = if let session { session.principal } else { try await findings.sso.names.defaultPrincipal(realm: realm) }
            probe = try await client.probe(for: standard)
        } catch {
            return [DiagnosticCheck("kdc", .failed, error.description)]
        }
        async let proxied = proxies.concurrentlyMapped { await KDCProxyReport($0, probe) }
        let reports = await places.concurrentlyMapped { await KDCReport($0, probe) }
        let proxyReports = await proxied
        let answers = reports.flatMap(\.answers) + proxyReports.compactMap(\.answer)
        if let answer = answers.first(where: { $0.clockOffset != nil }) ?? answers.first {
            findings.kdcs.answer = (probe.principal, answer)
        }
        findings.kdcs.clocks = reports.compactMap { report in
            report.answers.lazy.compactMap(\.clockOffset).first.map { ("\(report.place.address)", $0) }
        }
        if let offline = await offline(reports, realm, &findings) {
            return [offline] + proxyReports.map { $0.check(hasOthers: proxyReports.contains(where: \.isUsable)) }
        }
        let isReached = reports.contains { !$0.answers.isEmpty } || proxyReports.contains(where: \.isUsable)
        return reports.map { $0.check(hasOthers: isReached) } + proxyReports.map { $0.check(hasOthers: isReached) }
    }

    /// Returns the check for a machine that resolves no names, in place of one check for each KDC; nil if it resolves names.
    private static func offline(_ reports: [KDCReport], _ realm: String, _ findings: inout DiagnosticFindings) async -> DiagnosticCheck? {
        guard !reports.isEmpty, reports.allSatisfy({ $0.lookup == .noAnswer }), await !findings.resolvesNames() else { return nil }
        let names = reports.map { "\($0.place.address) (\($0.place.source))" }.joined(separator: ", ")
        return DiagnosticCheck("kdc", .failed, "\(Offline.text), not even the KDCs of \(realm): \(names).", remedy: Offline.remedy)
    }

    /// Compares the KDCs' clocks with this machine's.
    static let clock = DiagnosticStep.check("clock") { findings in
        guard let answer = findings.kdcs.answer?.answer else { return .skipped("no KDC answered.") }
        if let fault = wrongClock(of: findings.kdcs) { return fault }
        guard let offset = answer.clockOffset else { return .skipped("the KDC's answer does not contain its time.") }
        let difference = clockText(offset)
        let allowed = quantity(Int(findings.kdcs.clockTolerance), "second")
        let remedy = "Set this machine's clock: timedatectl set-ntp true"
        if abs(offset) > findings.kdcs.clockTolerance {
            let text = "the KDC's clock is \(difference) this machine's; Kerberos allows \(allowed)"
            guard findings.kdcs.followsClock else { return .failed("\(text).", remedy: remedy) }
            // libkrb5 then uses the KDC's clock. Other libraries, such as Java's, do not.
            return .warning("\(text), which libkrb5 corrects (kdc_timesync); other libraries may not.", remedy: remedy)
        }
        if abs(offset) > min(60, findings.kdcs.clockTolerance / 2) {
            return .warning("the KDC's clock is \(difference) this machine's; Kerberos allows \(allowed).", remedy: remedy)
        }
        return .ok("the KDC's clock is \(difference) this machine's.")
    }

    /// Reports the KDCs whose clocks are wrong if another KDC's is right: libkrb5 adjusts to the one that answers.
    private static func wrongClock(of kdcs: KDCFindings) -> Finding? {
        let wrong = kdcs.clocks.filter { abs($0.offset) > kdcs.clockTolerance }
        guard !wrong.isEmpty, wrong.count < kdcs.clocks.count else { return nil }
        let texts = wrong.map { "the clock of KDC \($0.kdc) is \(clockText($0.offset)) this machine's" }
        return .failed(
            "\(texts.joined(separator: ", ")); another KDC of the realm has this machine's time.",
            remedy: "Ask the administrator of that KDC to set its clock. Servers refuse the tickets that it issues."
        )
    }

    /// Returns a text such as `12 s ahead of`.
    static func clockText(_ offset: Double) -> String {
        let seconds = Int(offset.rounded())
        return seconds == 0 ? "less than a second from" : "\(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind")"
    }

    /// Checks whether the KDC would issue a ticket to the principal.
    static let account = DiagnosticStep.check("account") { findings in
        guard let (principal, answer) = findings.kdcs.answer else { return .skipped("no KDC answered.") }
        guard let refusal = answer.refusal else { return .ok("the KDC knows \(principal).") }
        let sentence = "\(principal): \(refusal.message)"
        if refusal.code == .unknownPrincipal, findings.kdcs.isGuess {
            let command = findings.subject.isInTestRealm ? "ksso login" : "ksso setup --principal"
            return .warning(sentence, remedy: "Specify the principal: \(command) NAME@\(principal.realm)")
        }
        return .failed(sentence, remedy: refusal.code == .passwordExpired ? "Change the password: ksso passwd, or kpasswd" : nil)
    }
}

extension Collection where Self: Sendable, Element: Sendable {
    /// Returns the results in the order of the elements.
    func concurrentlyMapped<Result: Sendable>(_ transform: @escaping @Sendable (Element) async -> Result) async -> [Result] {
        await withTaskGroup(of: (Int, Result).self) { group in
            for (index, element) in enumerated() { group.addTask { (index, await transform(element)) } }
            return await group.reduce(into: [Result?](repeating: nil, count: count)) { $0[$1.0] = $1.1 }.compactMap { $0 }
        }
    }
}
