import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Faults and options of ``AcceptorServer``, seen by curl.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct AcceptorServerFaultTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    private func curl(_ url: String, _ arguments: [String] = [], isSignedIn: Bool = true) async throws -> CommandResult {
        let cache = "FILE:\(realm.directory)/\(UUID().uuidString)"
        if isSignedIn { _ = try await realm.run("kinit", ["-c", cache, "alice"], input: "secret\n") }
        let words = ["-s", "-w", "%{http_code}", "--negotiate", "-u", ":", url] + arguments
        return try await realm.run("curl", words, environment: ["KRB5CCNAME": cache])
    }

    @Test func `a request with a ticket is greeted, and one without is challenged`() async throws {
        try await withAcceptorServer(realm: realm) { server in
            let greeted = try await curl(server.url).output
            #expect(greeted == "Hello alice@EXAMPLE.TEST\n200")
            let refused = try await curl(server.url, isSignedIn: false).output
            #expect(refused == "who are you?\n401")
        }
    }

    @Test func `a second request without a token is accepted only on a bound connection`() async throws {
        for isConnectionBound in [false, true] {
            try await withAcceptorServer(realm: realm, .init(isConnectionBound: isConnectionBound)) { server in
                // The second request carries no token.
                let second = ["--next", "-s", "-w", "%{http_code}", server.url]
                let output = try await curl(server.url, second).output
                #expect(server.requests.map(\.connection) == [1, 1])
                #expect(output.hasSuffix(isConnectionBound ? "Hello alice@EXAMPLE.TEST\n200" : "who are you?\n401"))
            }
        }
    }

    /// curl in Debian 12 sends no bindings.
    @Test func `a server that requires channel bindings rejects a client without them`() async throws {
        let identity = try await realm.makeServerIdentity()
        let bindings = try identity.channelBindings()
        for (policy, status) in [(AcceptorServerOptions.BindingPolicy.compared(bindings), "200"), (.required(bindings), "401")] {
            try await withAcceptorServer(realm: realm, .init(identity: identity, channelBindings: policy)) { server in
                let reply = try await curl(server.url, ["--cacert", identity.certificatePath])
                #expect(reply.output.hasSuffix(status))
            }
        }
        let without = try await realm.makeServerIdentity(.ed25519)
        #expect(throws: (any Error).self) { try without.channelBindings() }
    }

    @Test(arguments: [AcceptorServerOptions.FinalToken.sent, .dropped, .garbage])
    func `the server's final token is sent, dropped or garbled`(token: AcceptorServerOptions.FinalToken) async throws {
        try await withAcceptorServer(realm: realm, .init(finalToken: token)) { server in
            let head = try await curl(server.url, ["-D", "-", "-o", "/dev/null"]).output
            let fields = head.split(whereSeparator: \.isNewline).filter { $0.lowercased().hasPrefix("www-authenticate: negotiate") }
            let tokens = fields.map { Data(base64Encoded: String($0.split(separator: " ").last ?? "")) }
            switch token {
            case .dropped: #expect(fields.isEmpty, "\(head)")
            case .garbage: #expect(tokens == [Data("not a token".utf8)], "\(head)")
            // A NegTokenResp of SPNEGO (RFC 4178 section 4.2.2).
            default: #expect(tokens.map { $0?.first } == [0xA1], "\(head)")
            }
            #expect(server.requests.map(\.initiator) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `a test can replace the server's responses`() async throws {
        let options = AcceptorServerOptions { request in
            switch request.path {
            case "/busy": .status(503, fields: ["Retry-After": "1"])
            case "/again": .challenged
            case "/gone": .disconnected
            default: .negotiated
            }
        }
        try await withAcceptorServer(realm: realm, options) { server in
            let busy = try await curl("\(server.url)/busy").output
            #expect(busy.hasSuffix("503"))
            #expect(try await curl("\(server.url)/again").output.hasSuffix("401"))
            let gone = try await curl("\(server.url)/gone")
            #expect((gone.exitStatus, gone.output) == (52, "000"), "curl: empty reply from server")
            #expect(server.requests.last?.status == 0)
            #expect(try await curl(server.url).output.hasSuffix("200"))
        }
    }
}
