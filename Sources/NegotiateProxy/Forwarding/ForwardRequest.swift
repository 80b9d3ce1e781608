internal import HTTPNegotiate
internal import HTTPTypes
internal import SignOnPolicy

/// A request to an origin, without the fields that were for this proxy.
struct ForwardRequest: NegotiableRequest {
    var methodName: String
    var url: String
    let origin: Origin
    /// The path and the query as received; may be empty.
    let path: String
    private(set) var received: HeadFields
    private(set) var body: RequestBody?
    /// The protocol that the client wants to change to.
    let upgrade: String?
    private let acceptsTrailers: Bool
    /// The client's own credentials for an upstream proxy, if they are forwarded.
    let proxyAuthorization: String?
    /// Whether the request may have to be sent a second time.
    private(set) var mayBeRepeated = false

    /// - Throws: ``MessageProblem`` if the fields cannot be forwarded.
    init(_ head: RequestHead, to origin: Origin, path: String, body: RequestBody?, passesProxyAuthorization: Bool) throws(MessageProblem) {
        methodName = head.method
        url = "\(origin)\(path.escapedForURL)"
        self.origin = origin
        self.path = path
        self.body = body
        upgrade = body == nil ? HopByHop.upgrade(in: head.fields) : nil
        acceptsTrailers = head.fields.hasConnectionOption("te") && head.fields.tokens("TE").contains("trailers")
        proxyAuthorization = passesProxyAuthorization ? head.fields["Proxy-Authorization"].first : nil
        received = head.fields
        try HopByHop.remove(from: &received)
        received.remove(["host", "expect"])
    }

    /// The head to send.
    func head(by route: ProxyRoute, via name: String, expectsContinue: Bool, proxyAuthorization: String?) -> RequestHead {
        let target: String
        switch route {
        case .direct: target = path.isEmpty && methodName == "OPTIONS" ? "*" : path.hasPrefix("/") ? path : "/\(path)"
        case .upstream: target = "http://\(origin.authority)\(path.hasPrefix("?") ? "/" : "")\(path)"
        }
        var head = RequestHead(method: methodName, target: target)
        head.fields.add("Host", origin.authority)
        for field in received.all { head.fields.add(field) }
        if body?.framing == .chunked { head.fields.add("Transfer-Encoding", "chunked") }
        if expectsContinue { head.fields.add("Expect", "100-continue") }
        if acceptsTrailers { head.fields.add("TE", "trailers") }
        if let upgrade { head.fields.add("Upgrade", upgrade) }
        let options = (acceptsTrailers ? ["TE"] : []) + (upgrade == nil ? [] : ["Upgrade"])
        if !options.isEmpty { head.fields.add("Connection", options.joined(separator: ", ")) }
        if let proxyAuthorization { head.fields.add("Proxy-Authorization", proxyAuthorization) }
        head.fields.add("Via", "1.1 \(name)")
        return head
    }

    var routeTarget: RouteTarget {
        guard origin.scheme == .http else { return RouteTarget(tunnelTo: origin.host, port: origin.port) }
        let end = path.firstIndex(of: "?") ?? path.endIndex
        return RouteTarget(url: "http://\(origin.authority)\(path[..<end])", host: origin.host, port: origin.port)
    }

    var fields: HTTPFields {
        var fields = HTTPFields()
        for field in received.all {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: String(decoding: field.value, as: UTF8.self)))
        }
        return fields
    }

    var isReplayable: Bool { body?.isReplayable ?? true }

    var asksForUpgrade: Bool { upgrade != nil }

    /// Whether it may be sent again although the server may have received it (RFC 9110 section 9.2.2).
    var isRepeatable: Bool {
        isReplayable && ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(methodName) && upgrade == nil
    }

    func hasField(_ name: String) -> Bool { received.contains(name) }

    mutating func removeField(_ name: String) { received.remove(name) }

    mutating func replace(with fields: HTTPFields) {
        for field in fields { received.replace(field.name.rawName, field.value) }
    }

    mutating func removeBody() { body = nil }

    /// Reads a small body into memory. A longer one is sent only when the server asks for it, until which it can be sent again.
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {
        mayBeRepeated = true
        try await body?.buffer(upTo: limit)
    }
}

extension String {
    /// A path in which the characters that browsers send, and a URL must not contain, are percent-encoded.
    fileprivate var escapedForURL: String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = Array(utf8)
        var escaped: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isEncoded = byte == UInt8(ascii: "%") && bytes.dropFirst(index + 1).prefix(2).filter(\.isHexDigit).count == 2
            if isEncoded || byte != UInt8(ascii: "%") && byte.isURICharacter {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
