public import KerberosTesting

extension TestRealm {
    /// The kind of a request to the KDC.
    public enum RequestKind: String, Sendable {
        /// A request for a ticket-granting ticket (RFC 4120 section 3.1).
        case initialTicket = "AS_REQ"
        /// A request for a service ticket (RFC 4120 section 3.3).
        case serviceTicket = "TGS_REQ"
    }

    /// Returns how many requests of a kind the KDC has answered with a ticket, for a client and a server.
    ///
    /// - Parameters:
    ///   - client: The name without the realm; nil for every client.
    ///   - server: The name without the realm, such as `HTTP/www.example.test`; nil for every server.
    public func issued(_ kind: RequestKind, client: String? = nil, server: String? = nil) throws -> Int {
        try lines(kind, with: ": ISSUE:", client: client, server: server)
    }

    /// Returns how many requests of a kind the KDC has received, including refused ones and those without pre-authentication.
    public func received(_ kind: RequestKind, client: String? = nil, server: String? = nil) throws -> Int {
        try lines(kind, with: "", client: client, server: server)
    }

    private func lines(_ kind: RequestKind, with mark: String, client: String?, server: String?) throws -> Int {
        try log().split(separator: "\n").count { line in
            line.contains(" \(kind.rawValue) ") && (mark.isEmpty || line.contains(mark))
                && (client.map { line.contains(" \($0)@\(name) for ") } ?? true)
                && (server.map { line.contains(" for \($0)@") } ?? true)
        }
    }
}
