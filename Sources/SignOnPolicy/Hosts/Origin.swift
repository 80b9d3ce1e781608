public import struct Foundation.URL

/// The scheme, host and port of a URL (RFC 6454 section 4), strictly validated.
///
/// URLs that parsers might interpret differently are rejected, so that the host of the decision is the host of the connection.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The schemes that can be answered.
    public enum Scheme: String, Sendable, Hashable {
        /// Without TLS. Answered only if a profile allows it for the host.
        case http
        /// With TLS.
        case https

        /// The port if the URL has none.
        public var defaultPort: Int { self == .https ? 443 : 80 }
    }

    /// The scheme.
    public let scheme: Scheme
    /// The host in ASCII and lower case, without the trailing dot. An address is in its canonical form, without brackets.
    public let host: String
    /// The port of the URL, or the scheme's default port.
    public let port: Int
    /// Whether the host is an IPv4 or IPv6 address, including spellings such as `127.1`, `0x7f000001` and `2130706433`.
    public let isAddress: Bool

    /// Parses a URL.
    ///
    /// Throws an ``AuthorizationError`` with the code ``AuthorizationError/Code/invalidURL`` for a character outside RFC 3986, a scheme
    /// other than http and https, and an invalid host or port. User information is skipped: in `https://example.com@evil.test/` the host is
    /// `evil.test`.
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

    /// Parses a URL's absolute string. Throws as ``init(url:)-(String)`` does.
    public init(url: URL) throws(AuthorizationError) {
        try self.init(url: url.absoluteString)
    }

    /// `https://host:port`, without the scheme's default port.
    public var description: String {
        let bracketed = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == scheme.defaultPort ? "\(scheme.rawValue)://\(bracketed)" : "\(scheme.rawValue)://\(bracketed):\(port)"
    }
}

extension Origin {
    /// The error for a URL with an international host, with the host to write; nil for any other URL.
    ///
    /// The host is not converted: what looks like `example.com` may contain a Cyrillic letter, or become it by Unicode mappings.
    static func international(_ url: String) -> AuthorizationError? {
        let ascii = url.unicodeScalars.filter(\.isASCII)
        guard ascii.count < url.unicodeScalars.count, (try? checkCharacters(String(String.UnicodeScalarView(ascii)))) != nil,
            let form = URL(string: url)?.absoluteString, let host = try? Origin(url: form).host, !url.contains(host)
        else { return nil }
        return invalid("has a non-ASCII host; if you trust it, write it as \(host), and percent-encode all other non-ASCII characters")
    }

    /// Rejects characters that RFC 3986 does not allow anywhere in a URL.
    static func checkCharacters(_ url: String) throws(AuthorizationError) {
        var pendingHexDigits = 0
        for byte in url.utf8 {
            if pendingHexDigits > 0 {
                guard byte.isHexDigit else { break }
                pendingHexDigits -= 1
                continue
            }
            guard byte < 0x80 else {
                throw invalid("has a non-ASCII character; write a host in its xn-- form and percent-encode any other part")
            }
            guard byte.isURICharacter else {
                throw invalid(
                    "has a space, a control character, a backslash or another character that is not allowed in a URL; percent-encode it"
                )
            }
            if byte == UInt8(ascii: "%") { pendingHexDigits = 2 }
        }
        guard pendingHexDigits == 0 else { throw invalid("has a percent sign without two hexadecimal digits after it") }
    }

    /// The scheme, and the text between `//` and the path.
    static func scheme(of url: String) throws(AuthorizationError) -> (Scheme, Substring) {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            throw invalid("has no scheme; write the complete URL, such as https://www.example.com/")
        }
        guard let scheme = Scheme(rawValue: url[..<colon].asciiLowercased) else {
            throw invalid("is neither http nor https")
        }
        let start = bytes.index(colon, offsetBy: 3)
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        return (scheme, url[start..<end])
    }

    /// The authority after its `@`. A second `@` is invalid in RFC 3986, and parsers treat it differently.
    static func withoutUserInformation(_ authority: Substring) throws(AuthorizationError) -> Substring {
        guard let sign = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return authority }
        let isValid = authority[..<sign].utf8.allSatisfy { byte in
            byte.isUnreserved || byte.isSubDelimiter || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%")
        }
        guard isValid else { throw invalid("has a second @ or a bracket before its host; percent-encode it") }
        return authority[authority.utf8.index(after: sign)...]
    }

    /// The error for a URL's host or port. It does not quote the URL, whose user information may contain a password.
    static func refusal(_ problem: Authority.Problem) -> AuthorizationError {
        switch problem {
        case .host(let problem): AuthorizationError(.invalidURL, "The URL's host \(problem.clause).")
        case .port: invalid("has no valid port; write a number from 1 to 65535")
        case .address: invalid("has no valid IPv6 address between its brackets")
        }
    }

    private static func invalid(_ clause: String) -> AuthorizationError {
        AuthorizationError(.invalidURL, "The URL \(clause).")
    }
}
