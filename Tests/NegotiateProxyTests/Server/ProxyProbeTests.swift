import Foundation
import Subprocess
import TestSupport
import Testing

@testable import NegotiateProxy

@Suite struct ProxyProbeTests {
    private func answer(at port: Int) async -> ProxyProbe {
        await ProxyProbe.answer(at: ProxyServer(host: "127.0.0.1", port: port), within: .seconds(60))
    }

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
        // The second connection ends the program.
        let script = """
            import socket
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            print(listener.getsockname()[1], flush=True)
            for _ in range(2):
                client, _ = listener.accept()
                client.recv(65536)
                client.sendall(b"HTTP/1.1 400 Bad Request\\r\\nKsso-Proxy-Error: no\\r\\nContent-Length: 0\\r\\n\\r\\n")
                client.close()
            """
        let arguments = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c", script]
        let result = try await Subprocess.run(
            .name("setpriv"),
            arguments: Arguments(arguments),
            input: .none,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await bytes in execution.standardOutput {
                output += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                if output.hasSuffix("\n") { break }
            }
            let port = try #require(Int(output.dropLast()), "\(output)")
            return [await answer(at: port), await answer(at: port)]
        }
        #expect(result.closureResult == [.foreign(userID: 65_534), .foreign(userID: 65_534)])
    }

    @Test func `a port without a program is absent`() async throws {
        #expect(await answer(at: 9) == .absent)
    }
}
