internal import SystemSupport

/// What the function FindProxyForURL of a PAC file returned, such as `PROXY a:3128; PROXY b:3128; DIRECT`.
///
/// Browsers send a request directly if the answer is empty, is not a string, or has only kinds that they do not know. Here these are
/// errors, because a request that a rule sends to a proxy must not leave without it.
struct PACAnswer {
    /// The greatest number of routes that are read.
    static let limit = 32

    /// The routes in the order of the answer, each once. SOCKS proxies and proxies over TLS are skipped.
    let routes: [ProxyRoute]

    /// Parses an answer.
    ///
    /// - Parameters:
    ///   - text: The answer.
    ///   - host: The host of the request, for the error.
    ///   - location: The PAC file, for the error.
    init(_ text: String, for host: String, from location: PACLocation) throws(RoutingError) {
        var routes: [ProxyRoute] = []
        var skipped: [String] = []
        for part in text.split(separator: ";") {
            let words = part.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let kind = words.first else { continue }
            if let route = Self.route(kind.uppercased(), Array(words.dropFirst())) {
                if !routes.contains(route), routes.count < Self.limit { routes.append(route) }
            } else {
                skipped.append(words.joined(separator: " "))
            }
        }
        guard routes.isEmpty else {
            self.routes = routes
            return
        }
        let start = "The PAC file \(location)"
        guard !skipped.isEmpty, !["undefined", "null", "NaN", "true", "false"].contains(skipped[0]) else {
            let returned = text.isEmpty ? "an empty text" : "“\(text.escapedForDisplay(limit: 80))”"
            let remedy = "change FindProxyForURL so that it returns DIRECT or PROXY host:port."
            throw RoutingError("\(start) returned \(returned) for \(host), which names no route: \(remedy)")
        }
        let kinds = "“\(skipped.joined(separator: "; ").escapedForDisplay(limit: 200))”"
        let remedy = "change it so that it also returns DIRECT or PROXY host:port."
        throw RoutingError("\(start) returned only routes for \(host) that the local proxy cannot use, \(kinds): \(remedy)")
    }

    /// The route of one entry; nil if it cannot be used. `HTTP` is Firefox's name for `PROXY`. The default port is that of browsers.
    private static func route(_ kind: String, _ arguments: [String]) -> ProxyRoute? {
        switch (kind, arguments.count) {
        case ("DIRECT", 0): return .direct
        case ("PROXY", 1), ("HTTP", 1): return (try? ProxyServer(arguments[0], defaultPort: 80)).map { .upstream($0) }
        default: return nil
        }
    }
}
