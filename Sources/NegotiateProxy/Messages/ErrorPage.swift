/// A request that the proxy answers itself, with the reason in words.
package struct ProxyFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package let status: Int
    /// Sentences that say what failed and what to do.
    package let message: String
    /// The challenges of an upstream proxy, which the client may answer itself.
    package let challenges: [String]

    package init(_ status: Int, _ message: String, challenges: [String] = []) {
        self.status = status
        self.message = message
        self.challenges = challenges
    }

    package var description: String { message }

    /// Refuses a request whose head or body cannot be used.
    package init(request problem: MessageProblem) {
        self.init(problem.status, "The request was refused: \(problem.clause).")
    }

    /// Refuses a server's response.
    ///
    /// - Parameter sender: The origin or the upstream proxy, as text.
    package init(response problem: MessageProblem, from sender: String) {
        self.init(502, "The response of \(sender) was refused: \(problem.clause). Report it to the server's administrator.")
    }
}

extension ProxyFailure {
    /// The name of the field with the message, which `curl -v` prints.
    package static let fieldName = "Ksso-Proxy-Error"

    /// The response: a page of plain text, with the message in a field too.
    ///
    /// - Parameter keepsConnection: Whether the client may send another request.
    package func response(keepsConnection: Bool, hasBody: Bool = true) -> [UInt8] {
        let body = Array("\(message)\n\nThis page is from the local proxy (ksso proxy), not from the web server.\n".utf8)
        var head = ResponseHead(status: status, reason: Self.reasons[status] ?? "Error")
        head.fields.add("Content-Type", "text/plain; charset=utf-8")
        head.fields.add("Content-Length", "\(body.count)")
        head.fields.add("Cache-Control", "no-store")
        head.fields.add("X-Content-Type-Options", "nosniff")
        head.fields.add(Self.fieldName, fieldText)
        for challenge in challenges { head.fields.add("Proxy-Authenticate", challenge) }
        if !keepsConnection { head.fields.add("Connection", "close") }
        return hasBody ? head.bytes + body : head.bytes
    }

    /// The message in one line of printable ASCII.
    var fieldText: String {
        String(decoding: message.utf8.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: " ") }.prefix(1024), as: UTF8.self)
    }

    private static let reasons = [
        400: "Bad Request", 403: "Forbidden", 405: "Method Not Allowed", 407: "Proxy Authentication Required", 408: "Request Timeout",
        421: "Misdirected Request", 431: "Request Header Fields Too Large",
        501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported", 508: "Loop Detected",
    ]
}
