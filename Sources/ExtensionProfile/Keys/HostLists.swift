import SignOnPolicy

/// The keys of this project that list hosts. They define how hosts are answered that `Hosts` covers.
enum HostList: String, Sendable, Hashable, CaseIterable {
    case plainHTTP = "PlainHTTPHosts"
    case preemptive = "PreemptiveHosts"
    case delegation = "DelegationHosts"
    case unconditionalDelegation = "UnconditionalDelegationHosts"
    case optionalMutualAuthentication = "OptionalMutualAuthenticationHosts"
    case noMutualAuthentication = "NoMutualAuthenticationHosts"
    case noChannelBinding = "NoChannelBindingHosts"

    /// The list's valid host rules, each with its index.
    func entries(in keys: [String: ProfileValue]) -> [(offset: Int, rule: HostRule)] {
        (keys[rawValue]?.strings ?? []).enumerated().compactMap { offset, text in (try? HostRule(text)).map { (offset, $0) } }
    }

    /// The list's valid host rules.
    func rules(in keys: [String: ProfileValue]) -> [HostRule] { entries(in: keys).map(\.rule) }

    /// The list that has precedence if a host is in both.
    var stronger: HostList? {
        switch self {
        case .delegation: .unconditionalDelegation
        case .noMutualAuthentication: .optionalMutualAuthentication
        default: nil
        }
    }

    /// The effect for a host of the list, as part of a sentence.
    var effect: String {
        switch self {
        case .plainHTTP: "the server is also answered over plain http"
        case .preemptive: "the server gets a ticket without a challenge"
        case .delegation: "the server gets the user's own ticket if the KDC trusts it"
        case .unconditionalDelegation: "the server gets the user's own ticket even if the KDC does not trust it"
        case .optionalMutualAuthentication: "mutual authentication is optional for the server, but a proof that it sends must be valid"
        case .noMutualAuthentication: "mutual authentication is not requested"
        case .noChannelBinding: "the ticket is not bound to the server's certificate"
        }
    }
}

/// Checks this project's keys: whether `Hosts` covers the hosts in them, and which list has precedence if two contain the same host.
extension PayloadChecker {
    func hostListAdvice() -> [ProfileAdvice] {
        HostList.allCases.flatMap { list in
            list.entries(in: keys).flatMap { offset, rule in
                let place = path.appending(key: list.rawValue).appending(index: offset)
                let remarks = [coverageRemark(on: rule, of: list), strengthRemark(on: rule, of: list)]
                return remarks.compactMap { $0 }.map { ProfileAdvice($0.severity, path: place, payloadIndex: index, $0.sentence) }
            }
        }
    }

    func servicePrincipalAdvice() -> [ProfileAdvice] {
        ServicePrincipalEntry.all(in: keys).compactMap { entry in
            let place = path.appending(key: ServicePrincipalEntry.key).appending(key: entry.text)
            return remark(on: entry).map { ProfileAdvice(.warning, path: place, payloadIndex: index, $0) }
        }
    }

    private typealias Remark = (severity: ProfileAdvice.Severity, sentence: String)

    /// The remark on an entry that `Hosts` does not cover, or covers only in part.
    private func coverageRemark(on rule: HostRule, of list: HostList) -> Remark? {
        let rules = hosts.map(\.rule)
        guard !rules.contains(where: { PayloadChecker.covers($0, rule) }) else { return nil }
        if let part = rules.first(where: { PayloadChecker.covers(rule, $0) }) {
            return (.advice, "\(rule) is covered by Hosts only in part, such as by \(part). The entry has no effect on its other hosts.")
        }
        let consequence =
            list == .plainHTTP ? "so it is not answered over http either" : "so it is not answered, and this entry has no effect"
        return (.warning, "\(rule) is covered by no entry of Hosts, \(consequence). List it there too.")
    }

    /// The remark on an entry whose hosts are partly or completely in the list that has precedence.
    private func strengthRemark(on rule: HostRule, of list: HostList) -> Remark? {
        guard let stronger = list.stronger else { return nil }
        let rules = stronger.rules(in: keys)
        if let winner = rules.first(where: { PayloadChecker.covers($0, rule) }) {
            let whole = winner == rule ? "is also in \(stronger.rawValue)" : "is covered by \(winner) of \(stronger.rawValue)"
            return (
                .warning, "\(rule) \(whole), which has precedence: \(stronger.effect). This entry has no effect; remove one of the two."
            )
        }
        if let exception = rules.first(where: { PayloadChecker.covers(rule, $0) }) {
            return (
                .advice,
                "\(rule) does not apply to \(exception): \(stronger.rawValue) contains it and has precedence, so \(stronger.effect)."
            )
        }
        return nil
    }

    private func remark(on entry: ServicePrincipalEntry) -> String? {
        let host = entry.origin.host
        if !hosts.contains(where: { $0.rule.matches(host: host) }) {
            return "\(host) is covered by no entry of Hosts, so it is not answered, and this entry has no effect. List it there too."
        }
        if entry.origin.scheme == .http, !HostList.plainHTTP.rules(in: keys).contains(where: { $0.matches(host: host) }) {
            return "\(host) is not answered over plain http, so this entry has no effect. Write https, or list it in PlainHTTPHosts."
        }
        if entry.service != "HTTP" {
            return "The service of a web server is HTTP, in upper case; a ticket for \(entry.principal) is for another service."
        }
        return nil
    }

    /// Whether every host of `inner` is also a host of `outer`.
    private static func covers(_ outer: HostRule, _ inner: HostRule) -> Bool {
        switch inner.kind {
        case .exact: outer.matches(host: inner.name)
        case .suffix: outer.kind == .suffix && (outer.name == inner.name || inner.name.hasSuffix(outer.name))
        }
    }
}
