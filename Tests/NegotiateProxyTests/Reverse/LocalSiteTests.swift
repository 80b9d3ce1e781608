import SignOnPolicy
import TestSupport
import Testing

@testable import NegotiateProxy

/// What reverse mode changes in heads.
@Suite struct LocalSiteTests {
    struct Field: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let field: String
        let value: String
        /// Nil if the field is removed.
        let expected: String?
        var testDescription: String { name }
    }

    struct Request: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let head: String
        let path: String?
        let problem: String?
        let status: Int?
        var testDescription: String { name }
    }

    private static let remote = "https://intranet.example.test"

    private func makeSite() throws -> LocalSite {
        LocalSite(local: try Origin(url: "http://localhost:8408"), remote: try Origin(url: Self.remote))
    }

    @Test(arguments: try FixtureFile.load("Reverse/response-fields", in: .module, as: [Field].self))
    func `a response keeps the browser at its address`(_ vector: Field) throws {
        var fields = HeadFields([(vector.field, vector.value), ("X-Other", "https://intranet.example.test/")])
        try makeSite().translate(response: &fields)
        #expect(fields[vector.field] == [vector.expected].compactMap(\.self))
        #expect(fields["X-Other"] == ["https://intranet.example.test/"])
    }

    @Test(arguments: try FixtureFile.load("Reverse/requests", in: .module, as: [Request].self))
    func `only requests for the address of the connection are forwarded`(_ vector: Request) throws {
        let head = try HeadParser.request(Array(vector.head.utf8))
        do {
            let (site, path) = try LocalSite.read(
                head,
                at: TCPSocketName(address: [127, 0, 0, 1], port: 8408),
                for: try Origin(url: Self.remote)
            )
            #expect(path == vector.path)
            #expect(vector.problem == nil, "\(site)")
        } catch let failure as ProxyFailure {
            #expect(failure.status == vector.status)
            #expect(failure.message.hasPrefix(vector.problem ?? "no problem is expected"), "\(failure)")
        } catch let problem as MessageProblem {
            #expect(vector.status == nil)
            #expect(problem.clause == vector.problem)
        }
    }

    @Test(
        arguments: [
            ("Origin", "http://localhost:8408", "https://intranet.example.test"), ("Origin", "http://evil.example", "http://evil.example"),
            ("Origin", "null", "null"), ("Origin", "http://localhost:1", "http://localhost:1"),
            ("Referer", "http://localhost:8408/a?b", "https://intranet.example.test/a?b"),
            ("Referer", "https://www.example.test/", "https://www.example.test/"),
            ("Destination", "http://localhost:8408/new", "https://intranet.example.test/new"),
            ("Cookie", "a=b; __site-Host-c=d; __site-secure-e=__site-host-f", "a=b; __Host-c=d; __Secure-e=__site-host-f"),
            ("X-Page", "http://localhost:8408/", "http://localhost:8408/"),
        ]
    )
    func `a page of the site is one of the server's own pages`(name: String, value: String, expected: String) throws {
        let head = RequestHead(method: "GET", target: "/", fields: HeadFields([(name, value)]))
        #expect(try makeSite().request(head).fields[name] == [expected])
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::1]:1"])
    func `any Host is forwarded from a Unix socket`(host: String) throws {
        let head = RequestHead(method: "GET", target: "/", fields: HeadFields([("Host", host)]))
        #expect(try LocalSite.read(head, at: nil, for: try Origin(url: Self.remote)).path == "/")
    }

    @Test func `each server has an address of its own`() throws {
        let hosts = try ["https://a.example.test", "https://b.example.test", "https://a.example.test:8443"].map {
            try ReverseDestination(try Origin(url: $0)).loopbackAddress
        }
        #expect(Set(hosts).count == 3)
        let parts = hosts.flatMap { $0.split(separator: ".") }.compactMap { Int($0) }
        #expect(parts.count == 12 && parts.allSatisfy { (1...254).contains($0) })
        #expect(try ReverseDestination(try Origin(url: "https://A.example.test:443/")).loopbackAddress == hosts[0])
    }

    @Test func `bytes that are not UTF-8 stay as they are`() throws {
        var fields = HeadFields()
        fields.add(HeadFields.Field("Set-Cookie", Array("a=".utf8) + [0xFF, 0xE9]))
        try makeSite().translate(response: &fields)
        #expect(fields.values("Set-Cookie") == [Array("a=".utf8) + [0xFF, 0xE9]])
    }
}
