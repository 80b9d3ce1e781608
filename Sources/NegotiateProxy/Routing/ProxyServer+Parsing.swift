internal import SignOnPolicy
internal import SystemSupport

extension ProxyServer {
    /// Parses `host:port`, such as `proxy.corp.example:3128` or `[2001:db8::1]:3128`, the form of the profile's key `ProxyServers`.
    ///
    /// - Parameter defaultPort: The port if the text has none; without it, the text must have one.
    package init(_ text: String, defaultPort: Int? = nil) throws(RoutingError) {
        let shown = text.escapedForDisplay(limit: 200)
        let (name, digits) = try Self.split(text, shown)
        let host: String
        if name.hasPrefix("[") {
            guard let address = IPv6Address(name.dropFirst().dropLast()) else {
                throw RoutingError(
                    "The upstream proxy “\(shown)” has no IPv6 address between the brackets: write it as in [2001:db8::1]:3128."
                )
            }
            host = address.description
        } else {
            do throws(HostName.Problem) {
                host = try HostName(name).text
            } catch {
                throw RoutingError("The host of the upstream proxy “\(shown)” \(error.clause): write it as in proxy.corp.example:3128.")
            }
        }
        guard let digits else {
            guard let defaultPort else {
                throw RoutingError("The upstream proxy “\(shown)” has no port: write it as in \(host):3128.")
            }
            self.init(host: host, port: defaultPort)
            return
        }
        let isNumber = !digits.isEmpty && digits.utf8.count <= 5 && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, let port = Int(digits), (1...65535).contains(port) else {
            throw RoutingError("The port of the upstream proxy “\(shown)” is not a number from 1 to 65535: write it as in \(host):3128.")
        }
        self.init(host: host, port: port)
    }

    /// Splits a text into the host, an IPv6 address with its brackets, and the text after the colon.
    private static func split(_ text: String, _ shown: String) throws(RoutingError) -> (host: Substring, port: Substring?) {
        guard text.hasPrefix("[") else {
            guard let colon = text.firstIndex(of: ":") else { return (text[...], nil) }
            return (text[..<colon], text[text.index(after: colon)...])
        }
        guard let close = text.firstIndex(of: "]") else {
            throw RoutingError("The upstream proxy “\(shown)” has no closing bracket: write it as in [2001:db8::1]:3128.")
        }
        let rest = text[text.index(after: close)...]
        guard rest.isEmpty || rest.hasPrefix(":") else {
            throw RoutingError("The upstream proxy “\(shown)” has other text after the bracket: write it as in [2001:db8::1]:3128.")
        }
        return (text[...close], rest.isEmpty ? nil : rest.dropFirst())
    }
}
