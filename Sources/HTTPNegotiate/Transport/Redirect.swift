internal import SignOnPolicy

internal import struct Foundation.URL

/// The request that follows from a 3xx response (RFC 9110 section 15.4), without I/O; each hop is decided separately.
struct Redirect<Request: NegotiableRequest>: Sendable {
    /// The next request.
    let request: Request

    /// Nil if the response should be delivered: it is not a redirect, it leads from https to http, or it requires a body that can be read
    /// only once.
    ///
    /// Throws `invalidRedirect` if the location is not an http or https URL.
    init?(from request: Request, origin: Origin, response: some NegotiableResponse) throws(HTTPTransportError) {
        guard [301, 302, 303, 307, 308].contains(response.statusCode), let location = try Redirect.location(of: response, origin) else {
            return nil
        }
        let target = try Redirect.resolve(location, against: request.url, origin)
        let targetOrigin: Origin
        do throws(AuthorizationError) {
            targetOrigin = try Origin(url: target)
        } catch {
            throw HTTPTransportError(
                .invalidRedirect,
                "\(origin) redirects to a URL that cannot be followed. \(error.message)",
                cause: error
            )
        }
        guard origin.scheme == .http || targetOrigin.scheme == .https else { return nil }

        var next = request
        next.url = target
        if Redirect.becomesGet(status: response.statusCode, method: request.methodName) {
            next.methodName = "GET"
            next.removeBody()
            for name in Redirect.contentFields { next.removeField(name) }
        } else if !next.isReplayable {
            return nil
        }
        if targetOrigin != origin {
            for name in Redirect.fieldsOfOneOrigin { next.removeField(name) }
        }
        self.request = next
    }

    /// The fields that describe a body, which is no longer sent.
    private static var contentFields: [String] {
        [
            "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Type", "Digest", "Last-Modified",
            "Transfer-Encoding",
        ]
    }
    /// The fields that must not be sent to another scheme, host or port.
    private static var fieldsOfOneOrigin: [String] { ["Authorization", "Cookie", "Host", "Origin", "Proxy-Authorization"] }

    /// A POST becomes a GET on 301 and 302, as in other clients; on 303 every method except HEAD does.
    private static func becomesGet(status: Int, method: String) -> Bool {
        switch status {
        case 303: method != "HEAD" && method != "GET"
        case 301, 302: method == "POST"
        default: false
        }
    }

    private static func location(of response: some NegotiableResponse, _ origin: Origin) throws(HTTPTransportError) -> String? {
        let values = response.fieldValues("Location")
        guard Set(values).count <= 1 else {
            throw HTTPTransportError(.invalidRedirect, "\(origin) redirects to several locations at once. Report it to its administrator.")
        }
        return values.first
    }

    /// Resolves a reference (RFC 3986 section 5). An invalid reference is not repaired, so that all parsers see the same host.
    private static func resolve(_ location: String, against base: String, _ origin: Origin) throws(HTTPTransportError) -> String {
        guard URL(string: location, encodingInvalidCharacters: false) != nil, let baseURL = URL(string: base),
            let target = URL(string: location, relativeTo: baseURL)?.absoluteString
        else {
            throw HTTPTransportError(.invalidRedirect, "\(origin) redirects to an invalid URL. Report it to its administrator.")
        }
        // RFC 9110 section 10.2.2: the fragment is inherited.
        guard !target.contains("#"), let fragment = base.firstIndex(of: "#") else { return target }
        return target + base[fragment...]
    }
}
