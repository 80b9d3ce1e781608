/// One entry of the variable `no_proxy`.
struct NoProxyEntry: Sendable, Hashable {
    /// Why an entry covers no host.
    struct Problem: Error {
        /// A clause to follow the entry.
        let reason: String
    }

    private enum Pattern: Hashable {
        case everything
        /// A name and the names below it; in lower case, without dots at the ends.
        case name(String)
        case addresses(AddressRange)
    }

    /// The entry as written.
    let text: String
    private let pattern: Pattern
    private let port: Int?

    /// Parses an entry.
    ///
    /// - Parameter isAlone: Whether the list has no other entry, because only then `*` covers every host.
    init(_ text: String, isAlone: Bool) throws(Problem) {
        self.text = text
        if text == "*" {
            guard isAlone else { throw Problem(reason: "covers every host only as the single entry of the list") }
            (pattern, port) = (.everything, nil)
            return
        }
        guard !text.contains("://") else { throw Problem(reason: "has a scheme; write the host alone") }
        guard !text.contains("*") else { throw Problem(reason: Self.wildcardReason(text)) }
        if text.contains("/") {
            (pattern, port) = (.addresses(try Self.range(text)), nil)
        } else {
            let (host, port) = try Self.splitPort(text)
            (pattern, self.port) = (try Self.pattern(host), port)
        }
    }

    /// Whether the entry covers a host at a port.
    func covers(_ host: NoProxyHost, port: Int) -> Bool {
        guard self.port == nil || self.port == port else { return false }
        return switch (pattern, host) {
        case (.everything, _): true
        case (.addresses(let range), .address(let address)): range.contains(address)
        case (.name(let suffix), .name(let name)): name == suffix || name.hasSuffix(".\(suffix)")
        case (.addresses, .name), (.name, .address): false
        }
    }

    private static func wildcardReason(_ text: String) -> String {
        let name = text.hasPrefix("*.") ? String(text.dropFirst()) : ""
        guard !name.isEmpty, !name.contains("*") else { return "has a wildcard, which no entry can have" }
        return "has a wildcard; write \(name) for all names below the domain"
    }

    private static func range(_ text: String) throws(Problem) -> AddressRange {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let isIPv4 = !parts[0].contains(":")
        guard let address = NetworkAddress(parts[0]), !isIPv4 || isDottedQuad(parts[0]), !parts[0].contains("%") else {
            throw Problem(reason: "has no IPv4 or IPv6 address before the slash; write it as in 10.0.0.0/8 or 2001:db8::/32")
        }
        guard let length = number(parts[1]), let range = AddressRange(address, prefixLength: length, isWrittenAsIPv4: isIPv4) else {
            throw Problem(reason: "has no prefix length from 0 to \(isIPv4 ? 32 : 128) after the slash")
        }
        return range
    }

    /// Splits an entry into the host, an IPv6 address without brackets, and the port.
    private static func splitPort(_ text: String) throws(Problem) -> (host: Substring, port: Int?) {
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw Problem(reason: "has no closing bracket after the address") }
            host = text[text.index(after: text.startIndex)..<close]
            rest = text[text.index(after: close)...]
            guard host.contains(":") else { throw Problem(reason: "has brackets, but no IPv6 address between them") }
        } else if text.filter({ $0 == ":" }).count == 1, let colon = text.firstIndex(of: ":") {
            (host, rest) = (text[..<colon], text[colon...])
        } else {
            (host, rest) = (text[...], "")
        }
        guard !rest.isEmpty else { return (host, nil) }
        guard rest.hasPrefix(":"), let port = number(rest.dropFirst()), (1...65535).contains(port) else {
            throw Problem(reason: "has no port from 1 to 65535 after the host")
        }
        return (host, port)
    }

    private static func pattern(_ host: Substring) throws(Problem) -> Pattern {
        if host.contains(":") {
            guard let address = NetworkAddress(host), !host.contains("%") else { throw Problem(reason: "is not an IPv6 address") }
            return .addresses(AddressRange(address))
        }
        let name = host.hasPrefix(".") ? host.dropFirst() : host
        let parsed: HostName
        do throws(HostName.Problem) { parsed = try HostName(name) } catch { throw Problem(reason: error.clause) }
        guard parsed.isAddress else { return .name(parsed.text) }
        guard isDottedQuad(host), let address = NetworkAddress(host) else {
            throw Problem(reason: "is a part of an IPv4 address; write a network as in 10.0.0.0/8")
        }
        return .addresses(AddressRange(address))
    }

    /// Whether a text has four parts. Shorter spellings of addresses are refused here, because `192.168` would mean 192.0.0.168.
    private static func isDottedQuad(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).filter { !$0.isEmpty }.count == 4 && !text.hasPrefix(".")
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
