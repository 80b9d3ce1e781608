import SignOnPolicy

/// Checks `Hosts`, and this project's keys: whether `Hosts` or `ProxyHosts` covers the hosts in them, and which list has precedence if two
/// contain the same host.
extension PayloadChecker {
    func hostAdvice() -> [ProfileAdvice] {
        let onHosts = emptyListAdvice() + publicSuffixAdvice() + domainAdvice()
        return onHosts + hostListAdvice() + servicePrincipalAdvice() + proxyServerAdvice()
    }

    private func emptyListAdvice() -> [ProfileAdvice] {
        guard keys["Hosts"]?.array?.isEmpty == true else { return [] }
        let sentence = "The list is empty, so no host is answered."
        return [ProfileAdvice(.warning, path: path.appending(key: "Hosts"), payloadIndex: index, sentence)]
    }

    private func publicSuffixAdvice() -> [ProfileAdvice] {
        hosts.filter(\.rule.isPublicSuffix).map {
            ProfileAdvice(.warning, path: $0.path, payloadIndex: index, $0.rule.publicSuffixWarning)
        }
    }

    /// The advice on rules for the subdomains of a domain that is not in the list itself.
    private func domainAdvice() -> [ProfileAdvice] {
        let names = Set(hosts.map(\.rule.name))
        return hosts.compactMap { host -> ProfileAdvice? in
            let name = host.rule.domain
            switch host.rule.kind {
            case .exact: return nil
            case .suffix where host.rule.isPublicSuffix || names.contains(name): return nil
            case .suffix:
                let sentence = "\(host.rule) covers the subdomains only. To include \(name) itself, list it too."
                return ProfileAdvice(.advice, path: host.path, payloadIndex: index, sentence)
            }
        }
    }

    private func hostListAdvice() -> [ProfileAdvice] {
        HostList.all.flatMap { list in
            (keys[list.name]?.strings ?? []).enumerated().flatMap { offset, text -> [ProfileAdvice] in
                guard let rule = try? HostRule(text) else { return [] }
                let place = path.appending(key: list.name).appending(index: offset)
                let remarks = [coverageRemark(on: rule, of: list)] + list.strongerLists.map { precedenceRemark(on: rule, by: $0) }
                return remarks.compactMap { $0 }.map { ProfileAdvice($0.severity, path: place, payloadIndex: index, $0.sentence) }
            }
        }
    }

    private func servicePrincipalAdvice() -> [ProfileAdvice] {
        ServicePrincipalEntry.all(in: keys[ServicePrincipalEntry.key]?.dictionary ?? [:]).compactMap { entry in
            let place = path.appending(key: ServicePrincipalEntry.key).appending(key: entry.text)
            return remark(on: entry).map { ProfileAdvice(.warning, path: place, payloadIndex: index, $0) }
        }
    }

    /// Only advice, because not every proxy asks for a ticket.
    private func proxyServerAdvice() -> [ProfileAdvice] {
        (keys["ProxyServers"]?.strings ?? []).enumerated().compactMap { offset, text in
            let host = (try? ProxyAddress(text))?.host
            guard let host, !proxies.contains(where: { $0.matches(host: host) }) else { return nil }
            let sentence =
                "\(host) is covered by no entry of ProxyHosts, so it gets no ticket. If the proxy asks for one, list it there too."
            let place = path.appending(key: "ProxyServers").appending(index: offset)
            return ProfileAdvice(.advice, path: place, payloadIndex: index, sentence)
        }
    }

    private typealias Remark = (severity: ProfileAdvice.Severity, sentence: String)

    /// The valid rules of `ProxyHosts`.
    private var proxies: [HostRule] { HostList.proxies.rules(in: keys) }

    /// The remark on an entry that `Hosts` does not cover, or covers only in part.
    private func coverageRemark(on rule: HostRule, of list: HostList) -> Remark? {
        guard list.subject != .proxies else {
            return rule.isPublicSuffix ? (.warning, rule.publicSuffixWarning) : nil
        }
        let rules = hosts.map(\.rule) + (list.subject == .serversAndProxies ? proxies : [])
        guard !rules.contains(where: { $0.covers(rule) }) else { return nil }
        if let part = rules.first(where: { rule.covers($0) }) {
            return (.advice, "\(rule) is covered by Hosts only in part, such as by \(part). The entry has no effect on its other hosts.")
        }
        let (keys, remedy) =
            list.subject == .servers ? ("Hosts", "List it there too") : ("Hosts or ProxyHosts", "List it in one of them too")
        return (.warning, "\(rule) is covered by no entry of \(keys), \(list.uncovered). \(remedy).")
    }

    /// The remark on an entry whose hosts are partly or completely in the list that has precedence.
    private func precedenceRemark(on rule: HostRule, by stronger: HostList) -> Remark? {
        let rules = stronger.rules(in: keys)
        if let winner = rules.first(where: { $0.covers(rule) }) {
            let whole = winner == rule ? "is also in \(stronger.name)" : "is covered by \(winner) of \(stronger.name)"
            return (
                .warning, "\(rule) \(whole), which has precedence: \(stronger.effect). This entry has no effect; remove one of the two."
            )
        }
        if let exception = rules.first(where: { rule.covers($0) }) {
            return (
                .advice,
                "\(rule) does not apply to \(exception): \(stronger.name) contains it and has precedence, so \(stronger.effect)."
            )
        }
        return nil
    }

    private func remark(on entry: ServicePrincipalEntry) -> String? {
        let host = entry.origin.host
        let isOverHTTP = entry.origin.scheme == .http
        // A proxy is asked over http, whether or not Hosts covers it.
        let isProxy = isOverHTTP && proxies.contains { $0.matches(host: host) }
        if !isProxy, !hosts.contains(where: { $0.rule.matches(host: host) }) {
            return "\(host) is covered by no entry of Hosts, so it is not answered, and this entry has no effect. List it there too."
        }
        if !isProxy, isOverHTTP, !HostList.plainHTTP.rules(in: keys).contains(where: { $0.matches(host: host) }) {
            return "\(host) is not answered over plain http, so this entry has no effect. Write https, or list it in PlainHTTPHosts."
        }
        if entry.service != "HTTP" {
            return "The service of a web server is HTTP, in upper case; a ticket for \(entry.principal) is for another service."
        }
        return nil
    }
}

extension HostList {
    /// The valid host rules of the list in a payload.
    func rules(in keys: [String: ProfileValue]) -> [HostRule] { (keys[name]?.strings ?? []).hostRules }
}
