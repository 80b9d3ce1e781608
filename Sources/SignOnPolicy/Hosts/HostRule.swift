/// One entry of a profile's `Hosts`: a host, or with a leading dot all its subdomains.
///
/// `www.example.com` covers only that host. `.example.com` covers every host below `example.com`, at any depth, but not `example.com`
/// itself. Case and one trailing dot are ignored, and a match ends at a dot: `evilexample.com` matches only `.com`.
public struct HostRule: Sendable, Hashable, CustomStringConvertible {
    /// How a rule matches.
    public enum Kind: Sendable, Hashable {
        /// The host itself.
        case exact
        /// Every subdomain of the name, not the name itself.
        case suffix
    }

    /// How the rule matches.
    public let kind: Kind
    /// The name in lower case without a trailing dot; a suffix has its leading dot.
    public let name: String

    /// Parses an entry.
    ///
    /// Throws a ``HostRuleError`` for a port, a wildcard, a scheme or path, an IP address in any spelling, a character outside ASCII, or a
    /// label that is not valid in a host name.
    public init(_ text: String) throws(HostRuleError) {
        try HostRule.refuseOtherSyntax(text)
        let isSuffix = text.utf8.first == UInt8(ascii: ".")
        let host: HostName
        do {
            // This compares bytes, because a dot followed by a combining mark would be one Character.
            host = try HostName(isSuffix ? text[text.utf8.index(after: text.startIndex)...] : text[...])
        } catch {
            throw HostRuleError(error, text: text)
        }
        guard !host.isAddress else { throw HostRule.addressError(text) }
        kind = isSuffix ? .suffix : .exact
        name = isSuffix ? "." + host.text : host.text
    }

    /// Whether the rule covers a host. No rule covers an address or an invalid host name.
    public func matches(host: String) -> Bool {
        guard let host = try? HostName(host) else { return false }
        return matches(host)
    }

    /// Whether the rule covers a host that was parsed before.
    func matches(_ host: HostName) -> Bool {
        guard !host.isAddress else { return false }
        switch kind {
        case .exact: return host.text == name
        // The name begins with its dot, so the match ends at a label; the host's own first label is never empty.
        case .suffix: return host.text.utf8.count > name.utf8.count && host.text.hasSuffix(name)
        }
    }

    /// Whether the rule covers every host that another rule covers.
    package func covers(_ other: HostRule) -> Bool {
        switch (kind, other.kind) {
        case (_, .exact): matches(host: other.name)
        case (.suffix, .suffix): other.name.hasSuffix(name)
        case (.exact, .suffix): false
        }
    }

    /// The host of a rule that covers one host; nil if it covers several.
    package var singleHost: String? {
        switch kind {
        case .exact: name
        case .suffix: nil
        }
    }

    /// The name without a suffix's leading dot.
    package var domain: String {
        switch kind {
        case .exact: name
        case .suffix: String(name.dropFirst())
        }
    }

    /// The rule for all subdomains of ``domain``.
    package var subdomains: HostRule { HostRule(subdomainsOf: domain) }

    private init(subdomainsOf domain: String) {
        kind = .suffix
        name = "." + domain
    }

    /// The rule in profile syntax.
    public var description: String { name }

    /// Rejects syntax that other programs' lists allow, with a message that says what to write.
    private static func refuseOtherSyntax(_ text: String) throws(HostRuleError) {
        guard !text.isEmpty else {
            throw HostRuleError(
                .empty,
                text: text,
                reason: "The text is empty, which is not a host: write www.example.com, or .example.com for its subdomains."
            )
        }
        let quoted = text.quoted
        if text.utf8.contains(UInt8(ascii: "*")) || text.utf8.contains(UInt8(ascii: "?")) {
            throw HostRuleError(
                .glob,
                text: text,
                reason: "\(quoted) has a wildcard: write .example.com for all subdomains of example.com."
            )
        }
        let path: Set<UInt8> = [UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "@"), UInt8(ascii: "#")]
        if text.utf8.contains(where: path.contains) {
            throw HostRuleError(
                .schemeOrPath,
                text: text,
                reason: "\(quoted) is more than a host: write the host alone, without scheme, user or path."
            )
        }
        if text.utf8.first == UInt8(ascii: "[") || IPv6Address(text) != nil { throw addressError(text) }
        if text.utf8.contains(UInt8(ascii: ":")) {
            throw HostRuleError(.port, text: text, reason: "\(quoted) has a port: write the host alone; a rule covers all of its ports.")
        }
    }

    private static func addressError(_ text: String) -> HostRuleError {
        HostRuleError(
            .address,
            text: text,
            reason: "\(text.quoted) is an address: write the host's name; a service principal requires a host name."
        )
    }
}

extension HostRule {
    /// Names that are never delegated in the public DNS (RFC 2606, RFC 6762 appendix G, RFC 8375), or that ICANN reserves for private use.
    private static let privateDomains: Set<String> = [
        "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain", "localhost", "mail", "private",
        "test",
    ]
    /// Labels under which country registries register names for others, such as the `co` of `co.uk`.
    private static let registryLabels: Set<String> = [
        "ac", "co", "com", "ed", "edu", "go", "gob", "gouv", "gov", "gv", "ltd", "mil", "ne", "net", "nhs", "nom", "or", "org", "plc",
        "sch",
    ]

    /// Whether the rule covers domains of many owners: a suffix that is a top-level domain, such as `.com`, or a common second level below
    /// a country's, such as `.co.uk`.
    ///
    /// This is a heuristic instead of the Public Suffix List, whose ten thousand entries change every week: it finds suffixes that are
    /// written by mistake, and accepts the names of private networks.
    package var isPublicSuffix: Bool {
        switch kind {
        case .exact: return false
        case .suffix:
            let labels = domain.split(separator: ".").map(String.init)
            switch labels.count {
            case 1: return !Self.privateDomains.contains(labels[0])
            case 2: return labels[1].utf8.count == 2 && Self.registryLabels.contains(labels[0])
            default: return false
            }
        }
    }

    /// The warning for such a rule.
    package var publicSuffixWarning: String {
        "\(name) covers the domains of every organization under it, so any of their servers can request the user's tickets. "
            + "List the organization's own domains, such as .example\(name)."
    }
}

/// A rule that covers a host, with its configuration.
struct HostRuleMatch: Sendable, Hashable {
    let rule: HostRule
    /// The configuration of the rule.
    let shared: SharedConfiguration

    var configuration: ExtensionConfiguration { shared.value }
    /// The index of the configuration.
    var position: Int { shared.position }

    /// The rule that allows plain http for an origin.
    func plainHTTPRule(for origin: Origin) -> HostRule? { configuration.plainHTTPHosts.first { $0.matches(host: origin.host) } }

    /// All rules of a list that cover a host: exact before suffix, then the longest, then in configuration order.
    static func all(
        in configurations: [ExtensionConfiguration],
        host: String,
        list: KeyPath<ExtensionConfiguration, [HostRule]> = \.hosts
    ) -> [HostRuleMatch] {
        guard let host = try? HostName(host) else { return [] }
        let matches = configurations.indices.flatMap { position in
            configurations[position][keyPath: list].filter { $0.matches(host) }.map {
                HostRuleMatch(rule: $0, shared: SharedConfiguration(configurations, position))
            }
        }
        guard matches.count > 1 else { return matches }
        // The standard library does not guarantee a stable sort, so the offset decides last.
        return matches.enumerated().sorted { left, right in
            let (first, second) = (left.element.rule, right.element.rule)
            if first.kind != second.kind { return first.kind.precedence < second.kind.precedence }
            if first.name.utf8.count != second.name.utf8.count { return first.name.utf8.count > second.name.utf8.count }
            return left.offset < right.offset
        }.map(\.element)
    }
}

extension HostRule.Kind {
    /// The place among the kinds of rules that cover the same host; the lowest decides.
    fileprivate var precedence: Int {
        switch self {
        case .exact: 0
        case .suffix: 1
        }
    }
}

/// Why an entry of a profile is not a host rule, or not a KDC address.
public struct HostRuleError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `glob`.
        public let rawValue: String

        /// Creates a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The entry is empty.
        public static let empty = Code(rawValue: "empty")
        /// A character outside ASCII.
        public static let notASCII = Code(rawValue: "notASCII")
        /// A port where none is allowed, or an invalid one.
        public static let port = Code(rawValue: "port")
        /// A wildcard such as `*.example.com`.
        public static let glob = Code(rawValue: "glob")
        /// A scheme, user or path where only a host is allowed, or an unknown scheme.
        public static let schemeOrPath = Code(rawValue: "schemeOrPath")
        /// An IP address, for which there are no service principals.
        public static let address = Code(rawValue: "address")
        /// A label that is not valid in a host name.
        public static let badLabel = Code(rawValue: "badLabel")
    }

    /// The kind of error.
    public let code: Code
    /// The entry as written.
    public let text: String
    /// A text that says what is wrong and what to write.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - text: The entry as written.
    ///   - reason: A text that says what to write.
    public init(_ code: Code, text: String, reason: String) {
        self.code = code
        self.text = text
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

extension HostRuleError {
    /// Creates the error for an invalid host in a profile entry.
    init(_ problem: HostName.Problem, text: String) {
        let code: Code =
            switch problem {
            case .empty: .empty
            case .notASCII: .notASCII
            case .badCharacter(UInt8(ascii: "*")), .badCharacter(UInt8(ascii: "?")): .glob
            case .badAddress: .address
            default: .badLabel
            }
        let isSuffix = text.utf8.first == UInt8(ascii: ".")
        let host = isSuffix ? text[text.utf8.index(after: text.startIndex)...] : text[...]
        if code == .notASCII, let form = HostName.asciiForm(of: host) {
            let reason = "The host in \(text.quoted) is not ASCII; write \(isSuffix ? "." : "")\(form)."
            self.init(code, text: text, reason: reason)
        } else {
            self.init(code, text: text, reason: "The host in \(text.quoted) \(problem.clause).")
        }
    }
}
