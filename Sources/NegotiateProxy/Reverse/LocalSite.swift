internal import SignOnPolicy

/// A web server under the address that a browser has for it in reverse mode. Translates what names the server in heads; bodies are not
/// changed.
struct LocalSite: Sendable, Hashable {
    /// The origin in the browser, such as `http://127.0.0.1:8408`.
    let local: Origin
    /// The web server.
    let remote: Origin

    /// Reads for which address and path a request is.
    ///
    /// - Throws: ``ProxyFailure`` for a name that is not this machine's: a web site whose name leads to this machine (DNS rebinding) could
    ///   otherwise read the server's pages. ``MessageProblem`` for a target that is not a path.
    static func read(_ head: RequestHead, for remote: Origin) throws -> (site: LocalSite, path: String) {
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
        guard local.isOfThisMachine else {
            throw ProxyFailure(421, "\(local.host) is not a name of this machine. Open http://localhost:\(local.port)/ instead.")
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
            case "set-cookie": Self.cookie(value)
            default: value
            }
        }
    }

    /// A URL with the origin replaced; the same text if it is another one. A URL without a scheme has that of the page.
    private func moved(_ url: String, from: Origin, to: Origin) -> String {
        let absolute = url.hasPrefix("//") ? "\(from.scheme.rawValue):\(url)" : url
        guard (try? Origin(url: absolute)) == from, let slashes = absolute.firstRange(of: "//") else { return url }
        let end = absolute[slashes.upperBound...].firstIndex { "/?#".contains($0) } ?? absolute.endIndex
        guard !absolute[..<end].contains("@") else { return url }
        return to.description + absolute[end...]
    }

    /// `5; url=https://server/`.
    private func refresh(_ value: String) -> String {
        guard let name = value.firstRange(of: #/[;,]\s*[uU][rR][lL]\s*=\s*["']?/#) else { return value }
        let url = value[name.upperBound...]
        let end = url.firstIndex { "\"'".contains($0) } ?? url.endIndex
        return value[..<name.upperBound] + moved(String(url[..<end]), from: remote, to: local) + url[end...]
    }

    /// A `Set-Cookie` field (RFC 6265 section 4.1) for a site without TLS on this machine.
    ///
    /// Browsers require `Secure` for some names, and permit it for this machine.
    private static func cookie(_ value: String) -> String {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        let name = parts[0].asciiLowercasedText.trimmingBlanks
        guard !name.hasPrefix("__secure-"), !name.hasPrefix("__host-") else { return kept(parts) { $0 != "domain" } }
        // Browsers refuse SameSite=None and Partitioned without Secure.
        return kept(parts) { !["domain", "secure", "partitioned", "samesite=none"].contains($0) }
    }

    /// The cookie with those attributes that a closure accepts: their names, or `samesite=` and the value, in lower case.
    private static func kept(_ parts: [Substring], _ isKept: (String) -> Bool) -> String {
        let attributes = parts.dropFirst().filter { part in
            let words = part.asciiLowercasedText.split(separator: "=", maxSplits: 1).map(\.trimmingBlanks)
            guard let name = words.first else { return true }
            return isKept(name == "samesite" ? words.joined(separator: "=") : String(name))
        }
        return ([parts[0]] + attributes).joined(separator: ";")
    }
}

extension Origin {
    /// Whether the host is a loopback address, `localhost`, or a name below it, which browsers connect to this machine (RFC 6761).
    fileprivate var isOfThisMachine: Bool {
        guard isAddress else { return host == "localhost" || host.hasSuffix(".localhost") }
        return host.hasPrefix("127.") || host == "::1"
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
