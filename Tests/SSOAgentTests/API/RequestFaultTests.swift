import Foundation
import KCM
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

/// How the API handles malformed, oversized and unpermitted requests, and requests during a shutdown.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct RequestFaultTests {
    @Test(
        arguments: [
            ("GET", "/v1/nothing", nil, 404, "unknownOperation"), ("GET", "/v1/authorize", nil, 404, "unknownOperation"),
            ("POST", "/v1/authorize", "", 400, "malformedRequest"), ("POST", "/v1/authorize", "{", 400, "malformedRequest"),
            ("POST", "/v1/authorize", "{}", 400, "malformedRequest"), ("POST", "/v1/authorize", #"{"url": 1}"#, 400, "malformedRequest"),
            ("POST", "/v1/authorize", #"{"url": "nonsense"}"#, 400, "invalidURL"),
            ("POST", "/v1/authorize", #"{"url": "https://www.example.test/", "mutualAuthentication": "?"}"#, 422, "failed"),
            ("POST", "/v1/authorize", #"{"url": "https://www.example.test/", "channelBindings": "?"}"#, 400, "malformedRequest"),
            ("POST", "/v1/authorize/none", #"{"token": "AAAA"}"#, 404, "unknownExchange"),
            ("DELETE", "/v1/authorize/none", nil, 404, "unknownExchange"),
            ("GET", "/v1/explain", nil, 400, "malformedRequest"), ("GET", "/v1/explain?url=%00", nil, 400, "invalidURL"),
        ] as [(String, String, String?, Int, String)]
    )
    func `each API error has its status and code`(method: String, path: String, body: String?, status: Int, code: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let data = body.map { ["--data", $0] } ?? []
            let reply = try await agent.curl(data + ["--request", method, "http://ksso\(path)"])
            #expect(reply.status == status)
            let problem = try AgentJSON.decode(AgentProblem.self, from: Data(reply.body.utf8))
            #expect(problem.code == code && problem.status == status)
        }
    }

    @Test func `a request body that is too large is refused with status 413`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let body = #"{"url": ""# + String(repeating: "x", count: 400_000) + #""}"#
            let reply = try await agent.curl(["--data-binary", "@-", "http://ksso/v1/authorize"], input: body)
            #expect(reply.status == 413)
            #expect(try AgentJSON.decode(AgentProblem.self, from: Data(reply.body.utf8)).code == "tooLarge")
            #expect(try await agent.client().status().agent)
        }
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "POST /v1/login HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ])
    func `data that is not HTTP closes only its own connection`(_ text: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            try await TextConnection.open(agent.socketPath, sending: text) { connection in
                let answer = try await connection.answer()
                #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400"))
            }
            #expect(try await agent.client().status().agent)
        }
    }

    @Test(arguments: [
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}X\r\n", "Content-Length: 2, 3\r\n\r\n{}", "Transfer-Encoding: chunked, gzip\r\n\r\n",
    ])
    func `a body with an invalid length or transfer encoding is refused with status 400`(_ rest: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let text = "POST /v1/authorize HTTP/1.1\r\nHost: ksso\r\n" + rest
            try await TextConnection.open(agent.socketPath, sending: text) { connection in
                let answer = try await connection.answer()
                #expect(answer.hasPrefix("HTTP/1.1 400") && answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(answer)")
            }
            #expect(try await agent.client().status().agent)
        }
    }

    /// `nc -N` does this, and a Python client that calls shutdown(SHUT_WR).
    @Test func `a client of the API that closes its sending side still gets the answer`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let text = "POST /v1/logout HTTP/1.1\r\nHost: ksso\r\nContent-Length: 2\r\n\r\n{}"
            let answer = try await TextConnection.open(agent.socketPath, sending: text) { connection in
                try await connection.closeOutput()
                return try await connection.answer()
            }
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("alice@EXAMPLE.TEST"), "\(answer)")
            let isForgotten = try await comesTrue { agent.api.connections.count == 0 }
            #expect(isForgotten)
        }
    }

    @Test func `a request with an Origin header field, as a browser sends it, is refused`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let reply = try await agent.curl(["--header", "Origin: https://www.example.test", "http://ksso/v1/status"])
            #expect(reply.status == 403)
        }
    }

    @Test(arguments: ["Basic realm=x", "Negotiate AAAA", "Negotiate ???", ""])
    func `a challenge that is not an initial Negotiate challenge is not handled`(_ challenge: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let body = #"{"url": "https://www.example.test/", "challenge": "\#(challenge)"}"#
            let reply = try await agent.curl(["--data", body, "http://ksso/v1/authorize"])
            #expect(reply.status == 200)
            let answer = try AgentJSON.decode(AuthorizeReply.self, from: Data(reply.body.utf8))
            #expect(answer.outcome == .notHandled && answer.reasons?.map(\.rule) == ["challenge"] && answer.headers == nil)
        }
    }

    @Test func `another user gets only the operations and hosts that are granted`() async throws {
        let realm = try #require(TestRealm.current)
        let rule = AllowedPeer(.user(geteuid()), hosts: [try HostRule("www.example.test")])
        // The agent's owner has another UID, so that the test runs as another user.
        try await RunningAgent.run(in: realm, change: { $0.allowedPeers = [rule] }, access: AccessPolicy(owner: geteuid() &+ 1)) { agent in
            for path in ["status", "events", "explain?url=https://www.example.test/"] {
                #expect(try await agent.curl(["http://ksso/v1/\(path)"]).status == 403)
            }
            for path in ["login", "refresh", "logout", "stop", "identity"] {
                #expect(try await agent.curl(["--data", "{}", "http://ksso/v1/\(path)"]).status == 403)
            }
            #expect(agent.stops.count == 0)
            let granted = try await agent.curl(["--data", #"{"url": "https://www.example.test/"}"#, "http://ksso/v1/authorize"])
            #expect(granted.status == 200)
            let other = try await agent.curl(["--data", #"{"url": "https://other.example.test/"}"#, "http://ksso/v1/authorize"])
            #expect(other.status == 403)
            let logout = #"{"url": "https://www.example.test/", "operation": "logout"}"#
            #expect(try await agent.curl(["--data", logout, "http://ksso/v1/authorize"]).status == 403)
            // The principal, mutual authentication and options are not the other user's choice.
            for choice in [#""principal": "admin@\#(realm.name)""#, #""mutualAuthentication": "off""#, #""options": {"a": "b"}"#] {
                let body = #"{"url": "https://www.example.test/", \#(choice)}"#
                #expect(try await agent.curl(["--data", body, "http://ksso/v1/authorize"]).status == 403, "\(choice)")
            }
            #expect(try await agent.curl(["http://ksso/v1/configuration"]).status == 200)
        }
    }

    /// Signing out and reading the status stay permitted, because neither gives the program a ticket.
    @Test func `a denied program can neither sign in, refresh nor change a password`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, change: { $0.deniedCallers = [.folder("/usr/")] }) { agent in
            let login = #"{"principal": "alice", "password": "secret"}"#
            let password = #"{"principal": "alice", "password": "secret", "newPassword": "other"}"#
            for (path, body) in [("login", login), ("refresh", "{}"), ("password", password)] {
                let answer = try await agent.curl(["--data", body, "http://ksso/v1/\(path)"])
                #expect(answer.status == 403 && answer.body.contains("DeniedBundleIdentifiers"), "\(path): \(answer)")
            }
            #expect(agent.changes.count == 0)
            #expect(try await agent.curl(["http://ksso/v1/status"]).status == 200)
            #expect(try await agent.curl(["--data", "{}", "http://ksso/v1/logout"]).status == 200)
        }
    }

    @Test func `the connection of a user without any rule is closed without reading a request`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, access: AccessPolicy(owner: geteuid() &+ 1)) { agent in
            let request = "GET /v1/status HTTP/1.1\r\nHost: ksso\r\n\r\n"
            // The connection may be closed before, while or after the request is written.
            let answer = try? await TextConnection.open(agent.socketPath, sending: request) { try await $0.answer() }
            #expect(answer ?? "" == "")
            #expect(agent.api.requests.load(ordering: .relaxed) == 0)
            let isForgotten = try await comesTrue { agent.api.connections.count == 0 }
            #expect(isForgotten)
        }
    }

    @Test func `a request in progress is answered before the agent stops`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let body = #"{"url": "https://www.example.test/"}"#
            let head = "POST /v1/authorize HTTP/1.1\r\nHost: ksso\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            try await TextConnection.open(agent.socketPath, sending: head) { connection in
                #expect(try await comesTrue { agent.api.requests.load(ordering: .relaxed) == 1 })
                async let end: Void = agent.server.shutDown(grace: .seconds(20))
                try await connection.send(body)
                #expect(try await connection.answer().hasPrefix("HTTP/1.1 200"))
                await end
            }
            // A child process that another test is starting briefly has a copy of the socket, which still accepts connections.
            let isGone = try await comesTrue {
                do throws(AuthorizationError) {
                    _ = try await AgentClient(socketPath: agent.socketPath).status()
                    return false
                } catch {
                    return error.code == .agentNotRunning
                }
            }
            #expect(isGone)
        }
    }

    @Test func `a client learns of changed profiles with its next request`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let client = try await agent.client()
            let url = try #require(URL(string: "https://www.example.test/"))
            #expect(client.decision(for: url).plan != nil)
            agent.current.replace(with: .init(.init(configurations: [])))
            _ = try await client.status()
            #expect(client.decision(for: url).plan == nil)
        }
    }
}
