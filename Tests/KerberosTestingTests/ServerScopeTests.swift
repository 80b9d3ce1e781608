import Foundation
import KerberosTesting
import KerberosTestingTraits
import Testing

/// How the servers in the test's own process end, whatever their clients do.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct ServerScopeTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    /// A connection that was accepted and that no task has taken yet is closed with the rest.
    @Test func `a scope ends while clients connect`() async throws {
        for _ in 0..<100 {
            try await withAcceptorServer(realm: realm) { server in
                for _ in 0..<8 { _ = try ClientSocket(port: server.port) }
            }
        }
    }

    @Test func `nothing listens afterwards`() async throws {
        // Nobody else's, so that the kernel gives the port to nobody else.
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
