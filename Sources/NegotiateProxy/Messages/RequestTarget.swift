package import SignOnPolicy

/// What a request to a proxy asks for (RFC 9112 section 3.2).
package enum RequestTarget: Sendable, Hashable {
    /// Absolute form: forward a request to an http origin.
    case resource(Origin, path: String)
    /// Authority form, with CONNECT: open a tunnel.
    case tunnel(host: String, port: Int)

    /// Reads the target of a request, and checks that it has one valid `Host`; that of a tunnel must name the same server.
    package init(_ head: RequestHead) throws(MessageProblem) {
        self = head.method == "CONNECT" ? try Self.tunnel(head) : try Self.resource(head)
    }

    private static func tunnel(_ head: RequestHead) throws(MessageProblem) -> RequestTarget {
        guard let origin = Self.authority(head.target, scheme: "https"), hasPort(head.target[...]) else {
            throw MessageProblem("the target of CONNECT is not HOST:PORT")
        }
        let hosts = head.fields["Host"]
        guard hosts.count <= 1 else { throw MessageProblem("it has several Host fields") }
        // Old clients send no Host, or one without the port.
        if let host = hosts.first {
            guard let named = Self.authority(host, scheme: "https"), named.host == origin.host,
                named.port == origin.port || !hasPort(host[...])
            else { throw MessageProblem("its Host is not the host of its target") }
        }
        return .tunnel(host: origin.host, port: origin.port)
    }

    private static func resource(_ head: RequestHead) throws(MessageProblem) -> RequestTarget {
        guard !head.target.hasPrefix("/"), head.target != "*" else {
            throw MessageProblem(
                "this is a proxy, and the request is for a web server; set the proxy in the client instead of in the URL, "
                    + "for example with the variable http_proxy"
            )
        }
        guard !head.target.contains("#") else { throw MessageProblem("its target contains a fragment") }
        let target = head.target
        let start = target.firstRange(of: "://")?.upperBound ?? target.startIndex
        let end = target[start...].firstIndex { $0 == "/" || $0 == "?" } ?? target.endIndex
        let origin: Origin
        // Only the origin must be a valid URL: browsers permit more characters behind it.
        do throws(AuthorizationError) { origin = try Origin(url: String(target[..<end])) } catch {
            throw MessageProblem("its target is not a valid http URL")
        }
        guard origin.scheme == .http else {
            throw MessageProblem("its target is an https URL; the client must open a tunnel with CONNECT")
        }
        guard !target[start..<end].contains("@") else { throw MessageProblem("its target contains a user name") }
        try checkHost(head)
        return .resource(origin, path: String(target[end...]))
    }

    private static func checkHost(_ head: RequestHead) throws(MessageProblem) {
        let hosts = head.fields["Host"]
        guard hosts.count <= 1 else { throw MessageProblem("it has several Host fields") }
        guard let host = hosts.first else {
            guard head.minorVersion == 0 else { throw MessageProblem("it has no Host field") }
            return
        }
        // Another host is ignored, and the request is sent with that of its target (RFC 9112 section 3.2.2).
        guard Self.authority(host, scheme: "http") != nil else { throw MessageProblem("its Host is not valid") }
    }

    private static func authority(_ text: String, scheme: String) -> Origin? {
        guard !text.contains(where: { "/?#@".contains($0) }) else { return nil }
        return try? Origin(url: "\(scheme)://\(text)/")
    }

    /// Whether an authority ends with a colon and a number.
    private static func hasPort(_ authority: Substring) -> Bool {
        let digits = authority.utf8.reversed().prefix { $0.isDigitByte }
        return !digits.isEmpty && authority.utf8.dropLast(digits.count).last == UInt8(ascii: ":")
    }
}

extension Origin {
    /// The value of `Host` for this origin.
    package var authority: String { String(description.dropFirst(scheme.rawValue.count + 3)) }
}
