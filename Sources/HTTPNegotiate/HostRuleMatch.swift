/// A rule that covers a host, and where it stands.
struct HostRuleMatch: Sendable, Hashable {
    let rule: HostRule
    let configuration: ExtensionConfiguration
    /// The configuration's place among all.
    let position: Int

    /// The rule that lets an origin be answered without TLS.
    func plainHTTPRule(for origin: Origin) -> HostRule? { configuration.plainHTTPHosts.first { $0.matches(host: origin.host) } }

    /// All rules that cover a host: exact before suffix, then the longest, then in their order.
    static func all(in configurations: [ExtensionConfiguration], host: String) -> [HostRuleMatch] {
        let matches = configurations.enumerated().flatMap { position, configuration in
            configuration.hosts.filter { $0.matches(host: host) }.map {
                HostRuleMatch(rule: $0, configuration: configuration, position: position)
            }
        }
        guard matches.count > 1 else { return matches }
        // The standard library's sort keeps equal elements in order only by accident, so the place decides in the end.
        return matches.enumerated().sorted { left, right in
            let (first, second) = (left.element.rule, right.element.rule)
            if first.kind != second.kind { return first.kind == .exact }
            if first.name.utf8.count != second.name.utf8.count { return first.name.utf8.count > second.name.utf8.count }
            return left.offset < right.offset
        }.map(\.element)
    }
}
