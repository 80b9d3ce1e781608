import HTTPTypes
import Testing

@testable import HTTPNegotiate

/// Which redirects are followed, and the request that follows.
@Suite struct RedirectTests {
    @Test(arguments: [
        "http://b test/", "http://b.test\\@a.test/", "ftp://b.test/", "file:///etc/passwd", "javascript:0", "http:///nowhere",
        "http://%62.test/",
        "http://b.test:99999/", "http://b\u{E9}.test/", "//", "",
    ])
    func `a Location that is not an HTTP URL is an error`(location: String) throws {
        #expect {
            try Redirect(from: PlainRequest(url: "http://a.test/"), location: location)
        } throws: { ($0 as? HTTPTransportError)?.code == .invalidRedirect }
    }

    @Test(arguments: [
        ("end", "https://a.test/x/end"), ("../end", "https://a.test/end"), ("/end", "https://a.test/end"),
        ("?q=1", "https://a.test/x/y?q=1"),
        ("//b.test/end", "https://b.test/end"), ("https://b.test", "https://b.test"), ("/end#part", "https://a.test/end#part"),
        ("./a/./b/../c", "https://a.test/x/a/c"), ("https://example.com@b.test/", "https://example.com@b.test/"),
    ])
    func `a Location is resolved against the request's URL`(location: String, expected: String) throws {
        let redirect = try Redirect(from: PlainRequest(url: "https://a.test/x/y?z=1"), location: location)
        #expect(redirect?.request.url == expected)
    }

    @Test func `a redirect inherits the URL's fragment`() throws {
        let redirect = try Redirect(from: PlainRequest(url: "https://a.test/x#part"), location: "/end")
        #expect(redirect?.request.url == "https://a.test/end#part")
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func `a redirect from HTTPS to HTTP is not followed`(status: Int) throws {
        let request = PlainRequest(url: "https://a.test/")
        #expect(try Redirect(from: request, status: status, location: "http://a.test/") == nil)
        #expect(try Redirect(from: request, status: status, location: "https://a.test/") != nil)
    }

    @Test(arguments: ["http://a.test:8080/", "https://a.test/", "http://a.test.evil.test/"])
    func `a redirect to another scheme, port or host drops the origin's headers`(location: String) throws {
        var request = PlainRequest(url: "http://a.test/")
        request.headers = ["authorization": "Basic QQ==", "cookie": "c", "host": "a.test"]
        #expect(try Redirect(from: request, location: location)?.request.headers.isEmpty == true)
        #expect(try Redirect(from: request, location: "http://A.test:80/")?.request.headers.count == 3)
    }

    @Test(arguments: [200, 300, 304, 305, 306, 401, 404]) func `other statuses are not redirects`(status: Int) throws {
        #expect(try Redirect(from: PlainRequest(url: "http://a.test/"), status: status, location: "/end") == nil)
    }
}

extension Redirect<PlainRequest> {
    fileprivate init?(from request: PlainRequest, status: Int = 302, location: String) throws {
        try self.init(from: request, origin: Origin(url: request.url), response: PlainResponse(statusCode: status, location: location))
    }
}

/// A request that is never sent.
private struct PlainRequest: NegotiableRequest {
    var url: String
    var methodName = "GET"
    var headers: [String: String] = [:]
    var isReplayable: Bool { true }

    init(url: String) { self.url = url }

    var fields: HTTPFields { [:] }
    func hasField(_ name: String) -> Bool { headers[name.lowercased()] != nil }
    mutating func removeField(_ name: String) { headers[name.lowercased()] = nil }
    mutating func replace(with fields: HTTPFields) {}
    mutating func removeBody() {}
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {}
}

private struct PlainResponse: NegotiableResponse {
    let statusCode: Int
    let location: String
    var isMultiplexed: Bool { false }
    var channelBindings: [UInt8]? { nil }

    func fieldValues(_ name: String) -> [String] { name == "Location" ? [location] : [] }
    func drain() async {}
}
