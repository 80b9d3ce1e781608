import Foundation
import Subprocess
import TestSupport
import Testing

@testable import NegotiateProxy

@Suite struct ProxyProbeTests {
    private func answer(at port: Int) async -> ProxyProbe { await ProxyProbe.answer(at: ProxyServer(host: "127.0.0.1", port: port)) }

    @Test func `a local proxy is recognized`() async throws {
        try await withProxy { proxy in #expect(await answer(at: proxy.port) == .serving) }
    }

    @Test func `a local proxy of another user is recognized`() async throws {
        try await withProxy(change: { $0.users = [12_345] }) { proxy in #expect(await answer(at: proxy.port) == .refusing) }
    }

    @Test func `a web server is not taken for a local proxy`() async throws {
        try await ScriptedServer.run({ _ in .response(403, body: "hello") }) { server in
            #expect(await answer(at: server.port) == .otherProgram)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can run a program as another user."))
    func `another user's program that answers like a local proxy is recognized`() async throws {
        let port = try await ScriptedServer.run({ _ in .response(404) }) { $0.port }  // free again
        let script = """
            import socket
            listener = socket.create_server(("127.0.0.1", \(port)))
            for _ in range(2):
                client, _ = listener.accept()
                client.recv(65536)
                client.sendall(b"HTTP/1.1 400 Bad Request\\r\\nKsso-Proxy-Error: no\\r\\nContent-Length: 0\\r\\n\\r\\n")
                client.close()
            """
        let arguments = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c", script]
        async let program = Subprocess.run(
            .name("setpriv"),
            arguments: Arguments(arguments),
            output: .discarded,
            error: .string(limit: 4096)
        )
        var found = ProxyProbe.absent
        try await eventually {
            found = await answer(at: port)
            return found != .absent
        }
        #expect(found == .foreign(userID: 65_534))
        // The second connection ends the program. It may stop listening before its owner is looked up.
        let last = await answer(at: port)
        #expect([.foreign(userID: 65_534), .foreign(userID: nil)].contains(last))
        #expect(try await program.standardError == "")
    }

    @Test func `a port without a program is absent`() async throws {
        #expect(await answer(at: 9) == .absent)
    }
}
