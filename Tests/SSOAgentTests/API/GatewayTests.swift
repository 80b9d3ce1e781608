import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// The agent's answers to nginx's `auth_request`.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct GatewayTests {
    /// The status and the header fields of the answer to an auth-request, with field names in lower case.
    private func ask(_ agent: RunningAgent, _ fields: [String]) async throws -> (status: Int, fields: [String: String]) {
        let arguments = fields.flatMap { ["--header", $0] } + ["--dump-header", "-", "--output", "/dev/null"]
        let reply = try await agent.curl(arguments + ["http://ksso/v1/auth-request"])
        var found: [String: String] = [:]
        for line in reply.body.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            found[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return (reply.status, found)
    }

    @Test func `an auth-request for a covered URL gets an Authorization header field`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let (status, fields) = try await ask(agent, ["X-Original-URL: https://www.example.test/a?b"])
            #expect(status == 200 && fields["cache-control"] == "no-store")
            let token = try #require(Data(base64Encoded: String((fields["authorization"] ?? "").dropFirst("Negotiate ".count))))
            #expect(try Acceptance(Array(token), keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            #expect(agent.api.exchanges.count == 0)
        }
    }

    @Test(arguments: [
        ["X-Original-URL: https://www.evil.test/"], ["X-Original-URL: https://www.example.test@www.evil.test/"],
        ["X-Original-URL: https://www.example.test.evil.test/"], ["X-Original-URL: ftp://www.example.test/"],
        ["X-Original-URL: www.example.test"],
        ["X-Original-URL: https://www.example.test/ HTTP/1.1"], ["X-Original-URL: https://www.example.test\\@evil.test/"],
        ["X-Original-URL: https://www.example.test/\t" + "x"], ["X-Original-URL: https://127.0.0.1/"], [],
        ["X-Original-URL: https://www.example.test/", "X-Original-URL: https://www.evil.test/"],
        ["X-Original-URL: https://www.example.test/\u{e9}"],
    ])
    func `an auth-request for any other URL is refused with a reason`(fields: [String]) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let (status, answer) = try await ask(agent, fields)
            #expect(status == 403)
            #expect(answer["authorization"] == nil)
            #expect(answer["ksso-reason"]?.isEmpty == false)
        }
    }

    @Test func `an auth-request without a session gets status 401 and the reason`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let (status, fields) = try await ask(agent, ["X-Original-URL: https://www.example.test/"])
            #expect(status == 401 && fields["authorization"] == nil)
            #expect(fields["ksso-reason"]?.contains("ksso login") == true)
        }
    }

    /// A line break ends the field; what follows must become neither a field of the answer nor a second request.
    @Test(arguments: ["\r\nX-Injected: 1", "\nX-Injected: 1", "\rX", "\0"])
    func `an auth-request whose URL contains a line break or a NUL is refused`(_ text: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let head =
                "GET /v1/auth-request HTTP/1.1\r\nHost: ksso\r\nX-Original-URL: https://www.evil.test/\(text)\r\nConnection: close\r\n\r\n"
            try await TextConnection.open(agent.socketPath, sending: head) { connection in
                let answer = try await connection.answer()
                #expect(answer.hasPrefix("HTTP/1.1 40"))
                #expect(!answer.lowercased().contains("authorization") && !answer.contains("X-Injected"))
            }
        }
    }
}
