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

    @Test func `a port without a program is absent`() async throws {
        #expect(await answer(at: 9) == .absent)
    }
}
