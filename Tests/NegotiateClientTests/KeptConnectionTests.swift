import HTTPNegotiate
import SignOnPolicy
import TestSupport
import Testing

/// Servers that close a connection after a response without announcing it. Whether a client's next request uses the closed connection is a
/// matter of microseconds, so the tests send many requests.
@Suite(.timeLimit(.minutes(5))) struct KeptConnectionTests {
    private static func response(_ status: String, _ fields: String = "") -> ScriptedServer.Reply {
        .raw("HTTP/1.1 \(status)\r\n\(fields)Content-Length: 4\r\n\r\nbody")
    }

    @Test(arguments: ClientLibrary.allCases)
    func `redirects work at a server that closes every connection`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { request in
            request.target == "/" ? Self.response("302 Found", "Location: /page\r\n") : Self.response("200 OK")
        }
        try await library.withServer(script: script) { server, client in
            for _ in 1...100 {
                let reply = try await client.send(server.request())
                #expect(reply.status == 200)
                #expect(reply.url == server.url("a.localhost", "/page"))
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `authentication works at a server that closes every connection`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? Self.response("401 No", "WWW-Authenticate: Negotiate\r\n")
                : Self.response("200 OK", "WWW-Authenticate: \(negotiate("final"))\r\n")
        }
        try await library.withServer(script: script) { server, client in
            for _ in 1...100 {
                let reply = try await client.send(server.request())
                #expect(reply.delivery == .authenticated)
            }
        }
    }
}
