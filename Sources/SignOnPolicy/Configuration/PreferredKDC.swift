/// One entry of a profile's `preferredKDCs`: `[protocol/]host[:port][/path]`, or a KDC proxy as `kkdcp://host[:port][/path]`.
///
/// Profiles use Heimdal's syntax; ``mitSyntax`` converts it for MIT krb5.
public struct PreferredKDC: Sendable, Hashable, CustomStringConvertible {
    /// The transport protocol.
    public enum Transport: Sendable, Hashable {
        /// The library's choice: stock libkrb5 tries UDP first for short messages.
        case any
        /// TCP only. MIT krb5 has no such option for one entry; `udp_preference_limit = 1` has the effect for the realm.
        case tcp
        /// UDP only. MIT krb5 has no such option.
        case udp
        /// HTTPS to a KDC proxy (MS-KKDCP).
        case https
    }

    /// The transport protocol.
    public let transport: Transport
    /// A host name in lower case, or an address without brackets.
    public let host: String
    /// The port, if the entry has one.
    public let port: Int?
    /// The path of a KDC proxy with its leading slash, if the entry has one.
    public let path: String?

    /// Parses an entry. Throws a ``HostRuleError`` that says which part is wrong.
    public init(_ text: String) throws(HostRuleError) {
        var rest = text[...]
        transport = try PreferredKDC.takeTransport(from: &rest, of: text)
        let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        let path = String(rest[end...])
        (host, port) = try PreferredKDC.authority(rest[..<end], of: text)
        self.path = path.isEmpty ? nil : path
        guard path.isEmpty || transport == .https else {
            throw HostRuleError(
                .schemeOrPath,
                text: text,
                reason: "\(text.quoted) has a path, which is allowed for a KDC proxy only: write kkdcp://host/path."
            )
        }
        guard path.utf8.allSatisfy({ $0.isURICharacter && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "?") }) else {
            throw HostRuleError(
                .schemeOrPath,
                text: text,
                reason: "The path of \(text.quoted) has a character that is not allowed in a path."
            )
        }
    }

    /// The entry in the syntax of MIT krb5's `kdc =`: `host:port`, `[v6]:port` or `https://host:port/path`.
    public var mitSyntax: String {
        transport == .https ? "https://" + hostAndPort + (path ?? "/KdcProxy") : hostAndPort
    }

    /// The entry in profile syntax.
    public var description: String {
        switch transport {
        case .any: hostAndPort
        case .tcp: "tcp/" + hostAndPort
        case .udp: "udp/" + hostAndPort
        case .https: "kkdcp://" + hostAndPort + (path ?? "")
        }
    }

    private var hostAndPort: String {
        let bracketed = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port.map { "\(bracketed):\($0)" } ?? bracketed
    }

    private static func takeTransport(from rest: inout Substring, of text: String) throws(HostRuleError) -> Transport {
        let lower = rest.asciiLowercased
        let prefixes: [(String, Transport)] = [
            ("kkdcp://", .https), ("https://", .https), ("kkdcp/", .https), ("https/", .https), ("tcp/", .tcp), ("udp/", .udp),
        ]
        for (prefix, transport) in prefixes where lower.hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            return transport
        }
        if lower.hasPrefix("http/") || lower.utf8.contains(UInt8(ascii: "@")) || lower.contains("://") {
            let reason =
                "\(text.quoted) is not a KDC address: write host, tcp/host, udp/host or kkdcp://host/path."
            throw HostRuleError(.schemeOrPath, text: text, reason: reason)
        }
        return .any
    }

    private static func authority(_ authority: Substring, of text: String) throws(HostRuleError) -> (String, Int?) {
        do {
            let parsed = try Authority(authority)
            return (parsed.host, parsed.port)
        } catch {
            switch error {
            case .host(let problem): throw HostRuleError(problem, text: text)
            case .port:
                throw HostRuleError(
                    .port,
                    text: text,
                    reason: "The port of \(text.quoted) is invalid: write a number from 1 to 65535."
                )
            case .address:
                throw HostRuleError(.address, text: text, reason: "\(text.quoted) has no valid address between its brackets.")
            }
        }
    }
}
