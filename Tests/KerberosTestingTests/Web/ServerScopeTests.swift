import Foundation
import KerberosTesting
import KerberosTestingTraits
import Testing

/// Servers in the test's own process stop at the end of their scope, whatever their clients do.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct ServerScopeTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    /// A connection that was accepted but is not handled by a task yet is closed too.
    @Test func `a server's scope ends while clients connect`() async throws {
        for _ in 0..<100 {
            try await withAcceptorServer(realm: realm) { server in
                for _ in 0..<8 { _ = try ClientSocket(port: server.port) }
            }
        }
    }

    @Test func `no socket listens after the server's scope`() async throws {
        // Used by no other test, so the kernel gives the port to no other socket.
        let address = "127.0.77.2"
        try await withTestRealm(.init(services: ["HTTP/web.test"], address: address)) { realm in
            var port = 0
            try await withAcceptorServer(realm: realm, .init(host: "web.test")) { server in
                port = server.port
                let url = "http://\(address):\(port)"
                let greeted = try await realm.run("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", url])
                #expect(greeted.output == "401")
            }
            #expect(throws: (any Error).self) { _ = try ClientSocket(port: port, address: address) }
        }
    }
}
