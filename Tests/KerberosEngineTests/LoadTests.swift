import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Many concurrent tasks in one process.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/other.example.test", "HTTP/cold.example.test"]))
struct LoadTests {
    @Test func `concurrent requests get distinct tokens with separate contexts`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let tokens = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for number in 0..<64 {
                let host = number % 2 == 0 ? "www.example.test" : "other.example.test"
                group.addTask {
                    var tokens: [[UInt8]] = []
                    for _ in 0..<10 {
                        let grant = try await kerberos.grant(host)
                        let server = try Acceptance(grant.token, keytab: realm.keytabPath)
                        #expect(server.service == "HTTP/\(host)@EXAMPLE.TEST")
                        // Only the context that created the token accepts the reply to it.
                        #expect(try await grant.exchange.respond(to: server.reply) == .established)
                        tokens.append(grant.token)
                    }
                    return tokens
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(tokens).count == 640)
    }

    @Test func `cancelled tasks do not affect other requests for the same service`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let tasks = (0..<64).map { number in
            Task {
                if number % 2 == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                return try await kerberos.grant("cold.example.test").principal
            }
        }
        for (number, task) in tasks.enumerated() {
            if number % 4 == 1 { task.cancel() }
        }
        for task in tasks {
            do {
                let principal = try await task.value
                #expect(principal == "alice@EXAMPLE.TEST")
            } catch let error as AuthorizationError {
                #expect(error.code == .canceled)
            }
        }
        #expect(try await kerberos.grant("cold.example.test").principal == "alice@EXAMPLE.TEST")
        #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/cold.example.test") == 1)
    }
}
