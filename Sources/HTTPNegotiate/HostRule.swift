/// One entry of a profile's `Hosts`: a host, or with a leading dot all its subdomains.
///
/// `www.example.com` is that host alone. `.example.com` is every host below `example.com`, at any depth, but not `example.com` itself.
/// Case and one trailing dot do not matter, and a match ends at a dot: `evilexample.com` is below nothing but `com`.
public struct HostRule: Sendable, Hashable, CustomStringConvertible {
    /// How a rule compares.
    public enum Kind: Sendable, Hashable {
        /// The host itself.
        case exact
        /// Every subdomain of the name, not the name itself.
        case suffix
    }

    /// How the rule compares.
    public let kind: Kind
    /// Lower case, no trailing dot; a suffix with its leading dot.
    public let name: String

    /// Reads an entry.
    ///
    /// Throws a ``HostRuleError`` for a port, a wildcard, a scheme or path, an IP address in any spelling, a character outside ASCII or a
    /// label that no host name has.
    public init(_ text: String) throws(HostRuleError) {
        try HostRule.refuseOtherSyntax(text)
        let isSuffix = text.utf8.first == UInt8(ascii: ".")
        let host: HostName
        do {
            // By bytes: a dot and a combining mark would be one Character.
            host = try HostName(isSuffix ? text[text.utf8.index(after: text.startIndex)...] : text[...])
        } catch {
            throw HostRuleError(error, text: text)
        }
        guard !host.isAddress else { throw HostRule.addressError(text) }
        kind = isSuffix ? .suffix : .exact
        name = isSuffix ? "." + host.text : host.text
    }

    /// Whether the rule covers a host. What is no host name, an address included, is covered by no rule.
    public func matches(host: String) -> Bool {
        guard let host = try? HostName(host), !host.isAddress else { return false }
        switch kind {
        case .exact: return host.text == name
        // The name begins with its dot, so the match ends at a label; the host's own first label is never empty.
        case .suffix: return host.text.utf8.count > name.utf8.count && host.text.hasSuffix(name)
        }
    }

    /// The rule as a profile writes it.
    public var description: String { name }

    /// Entries that other programs' lists allow, told apart so that the message can say what to write.
    private static func refuseOtherSyntax(_ text: String) throws(HostRuleError) {
        guard !text.isEmpty else {
            throw HostRuleError(
                .empty,
                text: text,
                reason: "An empty text is no host: write www.example.com, or .example.com for its subdomains."
            )
        }
        let quoted = text.debugDescription
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
            throw HostRuleError(.port, text: text, reason: "\(quoted) has a port: write the host alone; a rule covers all its ports.")
        }
    }

    private static func addressError(_ text: String) -> HostRuleError {
        HostRuleError(
            .address,
            text: text,
            reason: "\(text.debugDescription) is an address: write the host's name; no service principal is named after an address."
        )
    }
}
