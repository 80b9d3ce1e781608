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

    @Test func `nothing answers at the port after the server's scope`() async throws {
        // Used by no other test, so the kernel gives the port to no other socket.
        let address = "127.0.77.2"
        try await withTestRealm(.init(services: ["HTTP/web.test"], address: address)) { realm in
            var fetch = ["-s", "-o", "/dev/null", "-w", "%{http_code}"]
            try await withAcceptorServer(realm: realm, .init(host: "web.test")) { server in
                fetch.append("http://\(address):\(server.port)")
                let greeted = try await realm.run("curl", fetch)
                #expect(greeted.output == "401")
            }
            // curl may connect: a process that another test starts has the socket until it executes its program.
            let closed = try await realm.run("curl", fetch)
            #expect(closed.output == "000")
            #expect(closed.exitStatus != 0)
        }
    }
}
