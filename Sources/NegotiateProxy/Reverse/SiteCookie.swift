/// Cookies of an https server for a site without TLS on this machine (RFC 6265).
enum SiteCookie {
    /// Names that browsers accept over https only, and what they are called at this site.
    private static let names = [("__secure-", "__site-secure-"), ("__host-", "__site-host-")]

    /// The value of `Set-Cookie` for the browser. The cookie is for this site alone, and without `Secure`, which not every browser permits
    /// here; without that, browsers refuse `SameSite=None` and `Partitioned`.
    static func received(_ value: String) -> String {
        let parts = Self.parts(value)
        let attributes = parts.dropFirst().filter { part in
            let words = part.asciiLowercasedText.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1).map { Substring($0).trimmingBlanks }
            guard let name = words.first else { return true }
            guard name == "samesite" else { return !["domain", "secure", "partitioned"].contains(name) }
            return words.last != "none"
        }
        let cookie = names.reduce(String(parts[0])) { renamed($0, $1.0, $1.1) }
        return ([cookie[...]] + attributes).joined(separator: ";")
    }

    /// The value of `Cookie` for the server.
    static func sent(_ value: String) -> String {
        parts(value)
            .map { pair in names.reduce(String(pair)) { renamed($0, $1.1, $1.0 == "__host-" ? "__Host-" : "__Secure-") } }
            .joined(separator: ";")
    }

    /// The parts between semicolons, by bytes: a combining character joins a semicolon to one `Character`.
    private static func parts(_ value: String) -> [Substring] {
        value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Substring.init)
    }

    /// A cookie with another beginning of its name; the same text if it begins otherwise.
    private static func renamed(_ cookie: String, _ old: String, _ new: String) -> String {
        let blanks = cookie.prefix { $0 == " " || $0 == "\t" }
        let rest = cookie.dropFirst(blanks.count)
        guard rest.prefix(old.count).asciiLowercasedText == old else { return cookie }
        return blanks + new + rest.dropFirst(old.count)
    }
}
