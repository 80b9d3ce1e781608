/// The fields that are for one connection only and are never forwarded (RFC 9110 section 7.6.1).
package enum HopByHop {
    private static let fields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "proxy-connection", "te",
        "transfer-encoding", "upgrade", "http2-settings",
    ]
    /// The fields that `Connection` must not nominate, because without them the message means something else.
    private static let essential: Set<String> = [
        "authorization", "content-length", "cookie", "date", "expect", "host", "set-cookie", "www-authenticate",
    ]
    /// The fields that may not be in trailers (RFC 9110 section 6.5.1).
    private static let forbiddenTrailers: Set<String> = essential.union(fields).union([
        "age", "authentication-info", "cache-control", "content-encoding", "content-range", "content-type", "location", "max-forwards",
        "proxy-support", "range", "trailer", "vary", "via", "warning",
    ])

    /// Removes hop-by-hop fields and those that `Connection` nominates. Throws if it nominates a field that it must not.
    package static func remove(from fields: inout HeadFields) throws(MessageProblem) {
        let nominated = Set(fields.tokens("Connection"))
        if let name = nominated.intersection(essential).min() { throw MessageProblem("its Connection field nominates \(name)") }
        fields.remove(Self.fields.union(nominated))
    }

    /// The trailers that may be forwarded.
    package static func forwarded(trailers: HeadFields) -> HeadFields {
        var trailers = trailers
        trailers.remove(forbiddenTrailers)
        return trailers
    }

    /// The protocol that a request may upgrade to; nil if it asks for none. HTTP/2 is not forwarded, because it would hide requests.
    package static func upgrade(in fields: HeadFields) -> String? {
        guard fields.hasConnectionOption("upgrade"), let value = fields["Upgrade"].first, fields.values("Upgrade").count == 1,
            !fields.tokens("Upgrade").contains(where: { $0.hasPrefix("h2") || $0.hasPrefix("http") })
        else { return nil }
        return value
    }
}
