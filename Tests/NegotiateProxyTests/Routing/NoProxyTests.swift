import Foundation
import Subprocess
import Testing

@testable import SignOnPolicy

/// The list of the variable `no_proxy`.
struct NoProxyTests {
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let list: String
        let host: String
        let port: Int?
        let covered: Bool
        /// What curl does, if it differs from this package or from version to version.
        let curl: String?

        var testDescription: String { "\(name): \(list) → \(host):\(port ?? 80)" }
    }

    @Test(arguments: try vectors())
    func `an entry covers the expected hosts`(_ vector: Vector) {
        #expect((NoProxy(vector.list).entry(covering: vector.host, port: vector.port ?? 80) != nil) == vector.covered)
        #expect((NoProxy(entries: [vector.list]).entry(covering: vector.host, port: vector.port ?? 80) != nil) == vector.covered)
    }

    private static func vectors() throws -> [Vector] {
        let folder = Bundle.module.resourceURL ?? Bundle.module.bundleURL
        return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: folder.appending(path: "Fixtures/Routing/no-proxy.json")))
    }

    /// The fixture marks the vectors in which curl differs. Before version 7.86 curl read the list by other rules.
    @Test(.enabled("curl 7.86 or later is not installed") { await CurlVersion.installed >= (7, 86) })
    func `the installed curl treats the same hosts as covered`() async throws {
        for vector in try Self.vectors() where vector.curl == nil {
            let host = vector.host.contains(":") ? "[\(vector.host)]" : vector.host
            // Nothing listens at these ports: the error names the one to which curl connected, 1 for the proxy and 2 for the host itself.
            let result = try await run(
                .name("curl"),
                arguments: [
                    "-sS", "-o", "/dev/null", "-x", "http://127.0.0.1:1", "--noproxy", vector.list, "--connect-to", "::127.0.0.1:2",
                    "http://\(host):\(vector.port ?? 80)/",
                ],
                environment: .custom(["PATH": "/usr/bin:/bin"]),
                output: .discarded,
                error: .string(limit: 4096)
            )
            let errors = result.standardError
            #expect(errors.contains(vector.covered ? " port 2" : " port 1"), "\(vector.testDescription): \(errors)")
        }
    }

    @Test func `the covering entry is reported as written`() {
        let list = NoProxy("localhost, .Corp.Example,10.0.0.0/8")
        #expect(list.entry(covering: "a.corp.example", port: 80) == ".Corp.Example")
        #expect(list.entry(covering: "10.1.2.3", port: 80) == "10.0.0.0/8")
        #expect(list.ignored.isEmpty)
    }

    @Test(arguments: [
        ("*.corp.example", "has a wildcard; write .corp.example for all names below the domain"),
        ("*corp.example", "has a wildcard, which no entry can have"),
        ("http://corp.example", "has a scheme; write the host alone"),
        ("<local>", "has the character “<”, which is not allowed in a host name"),
        ("192.168", "is a part of an IPv4 address; write a network as in 10.0.0.0/8"),
        ("10.0.0.0/33", "has no prefix length from 0 to 32 after the slash"),
        ("2001:db8::/129", "has no prefix length from 0 to 128 after the slash"),
        ("[a:b:c:d::]/48", "has no IPv4 or IPv6 address before the slash; write it as in 10.0.0.0/8 or 2001:db8::/32"),
        ("corp.example:port", "has no port from 1 to 65535 after the host"),
        ("[::1", "has no closing bracket after the address"),
        ("[corp.example]", "has brackets, but no IPv6 address between them"),
        ("a:b:c", "is not an IPv6 address"),
        ("bücher.example", "is not ASCII; write an internationalized name in its xn-- form"),
    ])
    func `an entry that covers no host is reported with the reason`(entry: String, reason: String) {
        #expect(NoProxy("a.example,\(entry)").ignored == [.init(entry: entry, reason: reason)])
    }

    @Test func `a star in a longer list is reported`() {
        #expect(NoProxy("localhost,*").ignored.map(\.entry) == ["*"])
    }
}

/// The version of the installed curl.
private enum CurlVersion {
    static var installed: (Int, Int) {
        get async {
            let result = try? await run(.name("curl"), arguments: ["--version"], output: .string(limit: 4096), error: .discarded)
            let words = result?.standardOutput.split(separator: " ") ?? []
            let numbers = words.count > 1 ? words[1].split(separator: ".").compactMap { Int($0) } : []
            return numbers.count > 1 ? (numbers[0], numbers[1]) : (0, 0)
        }
    }
}
