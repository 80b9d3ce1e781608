internal import SignOnPolicy

/// A web server under the address that a browser has for it in reverse mode. Translates what names the server in heads; bodies are not
/// changed.
struct LocalSite: Sendable, Hashable {
    /// The origin in the browser, such as `http://127.0.0.1:8408`.
    let local: Origin
    /// The web server.
    let remote: Origin

    /// Reads for which path a request is.
    ///
    /// Only the address and port of the connection itself may be in `Host`. A web site whose name leads to this machine (DNS rebinding)
    /// could otherwise read the server's pages; so could another user of the machine who serves a page for `localhost` at `[::1]`, which
    /// browsers connect to first.
    ///
    /// - Parameter socket: The connection's own address; nil for a Unix socket, whose clients are no browsers.
    /// - Throws: ``ProxyFailure`` for another name; ``MessageProblem`` for a target that is not a path.
    static func read(_ head: RequestHead, at socket: TCPSocketName?, for remote: Origin) throws -> (site: LocalSite, path: String) {
        guard head.method != "CONNECT" else {
            throw ProxyFailure(405, "This address forwards to \(remote) only, and opens no tunnels. For other servers, run: ksso proxy run")
        }
        let hosts = head.fields["Host"]
        guard hosts.count == 1, let host = hosts.first else {
            throw MessageProblem(hosts.isEmpty ? "it has no Host field" : "it has several Host fields")
        }
        guard !host.contains(where: { "/?#@".contains($0) }), let local = try? Origin(url: "http://\(host)/") else {
            throw MessageProblem("its Host is not a host with a port")
        }
        if let own = try socket.map({ try Origin(url: "http://\($0.text)/") }), own != local {
            throw ProxyFailure(421, "\(local) is not the address of this proxy. Open \(own)/ instead.")
        }
        return (LocalSite(local: local, remote: remote), try path(of: head, local))
    }

    private static func path(of head: RequestHead, _ local: Origin) throws -> String {
        guard head.target != "*" else {
            guard head.method == "OPTIONS" else { throw MessageProblem("its target is not a path") }
            return ""
        }
        guard !head.target.hasPrefix("/") else {
            guard !head.target.contains("#") else { throw MessageProblem("its target contains a fragment") }
            return head.target
        }
        guard case .resource(local, let path) = try RequestTarget(head) else { throw MessageProblem("its target is another server") }
        return path
    }
}

extension LocalSite {
    /// The request as the server expects it: a page of this site is one of its own pages.
    func request(_ head: RequestHead) -> RequestHead {
        var head = head
        head.fields = head.fields.mapping { key, value in
            switch key {
            case "origin", "referer", "destination": moved(value, from: local, to: remote)
            case "cookie": SiteCookie.sent(value)
            default: value
            }
        }
        return head
    }

    /// Changes the fields of a response so that the browser stays at its address, and keeps the cookies.
    func translate(response fields: inout HeadFields) {
        // They are about the server's own name and port.
        fields.remove(["strict-transport-security", "alt-svc", "public-key-pins"])
        fields = fields.mapping { key, value in
            switch key {
            case "location", "content-location", "access-control-allow-origin": moved(value, from: remote, to: local)
            case "refresh": refresh(value)
            case "set-cookie": SiteCookie.received(value)
            default: value
            }
        }
    }

    /// A URL with the origin replaced; the same text if it is another one. A URL without a scheme has that of the page, which is lost if
    /// the URL leads elsewhere.
    private func moved(_ url: String, from: Origin, to: Origin) -> String {
        let absolute = url.hasPrefix("//") ? "\(from.scheme.rawValue):\(url)" : url
        guard let slashes = absolute.firstRange(of: "//") else { return url }
        let end = absolute[slashes.upperBound...].firstIndex { "/?#".contains($0) } ?? absolute.endIndex
        // Only the origin must be a valid URL: browsers permit more characters behind it.
        guard !absolute[..<end].contains("@"), (try? Origin(url: String(absolute[..<end]))) == from else { return absolute }
        return to.description + absolute[end...]
    }

    /// `5; url=https://server/`.
    private func refresh(_ value: String) -> String {
        guard let name = value.firstRange(of: #/[;,]\s*[uU][rR][lL]\s*=\s*["']?/#) else { return value }
        let url = value[name.upperBound...]
        let end = url.firstIndex { "\"'".contains($0) } ?? url.endIndex
        return value[..<name.upperBound] + moved(String(url[..<end]), from: remote, to: local) + url[end...]
    }
}

extension TCPSocketName {
    /// `127.0.0.1:8408` or `[::1]:8408`.
    fileprivate var text: String {
        let host = address.count == 4 ? address.map(String.init).joined(separator: ".") : "::1"
        return ProxyServer(host: host, port: Int(port)).description
    }
}

extension HeadFields {
    /// The fields with values that a closure changes. It gets the name in lower case.
    fileprivate func mapping(_ change: (_ key: String, _ value: String) -> String) -> HeadFields {
        var fields = HeadFields()
        for field in all {
            let text = String(decoding: field.value, as: UTF8.self)
            let changed = change(field.key, text)
            // Bytes that are not UTF-8 stay as they are.
            fields.add(changed == text ? field : Field(field.name, Array(changed.utf8)))
        }
        return fields
    }
}
