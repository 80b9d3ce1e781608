public import struct Foundation.URL

/// Scheme, host and port of a request's URL (RFC 6454 section 4), validated strictly.
///
/// What a lenient parser might read in two ways is refused, so that the host that is judged is the host that is connected to.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The schemes that can be answered.
    public enum Scheme: String, Sendable, Hashable {
        /// Without TLS. Answered only where a profile opts the host in.
        case http
        /// With TLS.
        case https

        /// The port when the URL names none.
        public var defaultPort: Int { self == .https ? 443 : 80 }
    }

    /// The scheme.
    public let scheme: Scheme
    /// ASCII, in lower case, without the trailing dot. An address is in its usual form and without brackets.
    public let host: String
    /// The port of the URL, or the scheme's own.
    public let port: Int
    /// Whether the host is an IPv4 or IPv6 address, odd spellings such as `127.1`, `0x7f000001` and `2130706433` included.
    public let isAddress: Bool

    /// Reads a URL.
    ///
    /// Throws an ``AuthorizationError`` with the code ``AuthorizationError/Code/invalidURL`` for a character outside RFC 3986, a scheme
    /// other than http and https, and a host or port that cannot be. User information is skipped: in `https://example.com@evil.test/` the
    /// host is `evil.test`.
    public init(url: String) throws(AuthorizationError) {
        do throws(AuthorizationError) {
            try Origin.checkCharacters(url)
        } catch {
            throw Origin.international(url) ?? error
        }
        let (scheme, rest) = try Origin.scheme(of: url)
        let hostAndPort = try Origin.withoutUserInformation(rest)
        let authority: Authority
        do {
            authority = try Authority(hostAndPort)
        } catch {
            throw Origin.refusal(error)
        }
        self.scheme = scheme
        host = authority.host
        port = authority.port ?? scheme.defaultPort
        isAddress = authority.isAddress
    }

    /// Reads a URL by its absolute text. Throws as ``init(url:)-(String)`` does.
    public init(url: URL) throws(AuthorizationError) {
        try self.init(url: url.absoluteString)
    }

    /// `https://host:port`, the scheme's own port left out.
    public var description: String {
        let bracketed = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme.rawValue)://\(bracketed)" : "\(scheme.rawValue)://\(bracketed):\(port)"
    }
}
