import Foundation
import HTTPNegotiate
import NIOCore
import NIOPosix
import SSOAgentClient
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// How the client handles an agent that is gone, does not answer or answers incorrectly.
@Suite struct ClientFaultTests {
    /// Answers each request on a Unix socket with the script's text for its number: nil sends nothing, an empty text closes the connection.
    private func withAgent(
        _ script: @escaping @Sendable (Int) -> String?,
        _ body: (String, Requests) async throws -> Void
    ) async throws {
        let path = "/tmp/ksso-fault-\(UUID().uuidString.prefix(8)).sock"
        let count = Requests()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Agent(script, count)) }
            }
            .bind(unixDomainSocketPath: path).get()
        defer { try? FileManager.default.removeItem(atPath: path) }
        do { try await body(path, count) } catch {
            try? await channel.close()
            throw error
        }
        try? await channel.close()
    }

    private final class Requests: Sendable { let value = Mutex(0) }

    private final class Agent: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let script: @Sendable (Int) -> String?
        private let requests: Requests

        init(_ script: @escaping @Sendable (Int) -> String?, _ requests: Requests) { (self.script, self.requests) = (script, requests) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let number = requests.value.withLock { number in
                number += 1
                return number
            }
            guard let answer = script(number) else { return }
            guard !answer.isEmpty else { return context.close(promise: nil) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            if !answer.contains("Content-Length") { context.close(promise: nil) }
        }
    }

    private static func reply(_ body: String, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let status = reply(#"{"agent": true, "cacheMode": "agent", "sessions": []}"#)

    @Test(arguments: [
        "", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", reply("{}"),
        reply("[1"),
        reply("", status: "500 Internal Server Error"), reply("{}", status: "404 Not Found"),
    ])
    func `an invalid response is reported with the path of the agent's socket`(answer: String) async throws {
        try await withAgent({ _ in answer }) { (path: String, _: Requests) async throws -> Void in
            let error = await #expect(throws: AuthorizationError.self) { try await AgentClient(socketPath: path).status() }
            #expect(error?.code == .agentUnavailable)
            #expect(error?.message.contains(path) == true)
        }
    }

    @Test func `the error contains a host rule that this version cannot read`() async throws {
        let answer = Self.reply(#"{"version": "1", "configurations": [{"realm": "A.TEST", "hosts": ["*.a.test"]}]}"#)
        try await withAgent({ _ in answer }) { (path: String, _: Requests) async throws -> Void in
            let error = await #expect(throws: AuthorizationError.self) { try await AgentClient(socketPath: path).loadConfiguration() }
            #expect(error?.code == .agentUnavailable)
            #expect(error?.message.contains("*.a.test") == true, "\(String(describing: error))")
        }
    }

    /// An older agent ignores the field `challenger` and answers as if the server of that name had asked.
    @Test(arguments: [
        #"{"outcome": "headers", "headers": {"Authorization": "Negotiate YQ=="}, "principal": "a", "servicePrincipal": "b", "exchange": "1"}"#,
        #"{"outcome": "notHandled", "reasons": []}"#, #"{"identity": {"principal": "a", "servicePrincipal": "b", "delegation": "none"}}"#,
    ])
    func `an answer of an older agent is not used for a proxy`(answer: String) async throws {
        try await withAgent({ _ in Self.reply(answer) }) { (path: String, _: Requests) async throws -> Void in
            let client = AgentClient(socketPath: path)
            let url = try #require(URL(string: "http://proxy.a.test:3128"))
            let request = AuthorizationRequest(url: url, challenger: .proxy)
            let error = await #expect(throws: AuthorizationError.self) {
                if answer.contains("identity") {
                    _ = try await client.identity(for: request)
                } else {
                    _ = try await client.beginAuthorization(with: request)
                }
            }
            #expect(error?.code == .agentUnavailable && error?.message.contains("ksso agent stop") == true)
        }
    }

    @Test func `a request on an idle connection that was closed is sent again on a new one`() async throws {
        try await withAgent({ $0 == 2 ? "" : Self.status }) { (path: String, count: Requests) async throws -> Void in
            let client = AgentClient(socketPath: path)
            #expect(try await client.status().agent)
            // The second request is lost with the idle connection and sent again on a new one.
            #expect(try await client.status().agent)
            #expect(count.value.withLock { $0 } == 3)
        }
    }

    /// If an agent exits with a request unread, the kernel resets the connection, which means no more than that it is closed.
    @Test func `a request on an idle connection that was reset is sent again on a new one`() async throws {
        let path = "/tmp/ksso-fault-\(UUID().uuidString.prefix(8)).sock"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        defer {
            close(listener)
            unlink(path)
        }
        let address = try #require(UnixSocketAddress(path: path))
        #expect(address.lent { bind(listener, $0, $1) } == 0 && listen(listener, 5) == 0)
        Thread.detachNewThread {
            let first = Self.answerOne(at: listener)
            var next = pollfd(fd: first, events: Int16(POLLIN), revents: 0)
            poll(&next, 1, 60_000)
            close(first)
            close(Self.answerOne(at: listener))
        }
        let client = AgentClient(socketPath: path)
        #expect(try await client.status().agent)
        #expect(try await client.status().agent)
    }

    /// Accepts a connection, answers its first request and returns the connection.
    private static func answerOne(at listener: Int32) -> Int32 {
        let connection = accept(listener, nil, nil)
        var bytes = [UInt8](repeating: 0, count: 4096)
        _ = read(connection, &bytes, bytes.count)
        _ = write(connection, status, status.utf8.count)
        return connection
    }

    @Test func `a sign-in is never sent twice`() async throws {
        try await withAgent({ $0 == 1 ? Self.status : "" }) { (path: String, count: Requests) async throws -> Void in
            let client = AgentClient(socketPath: path)
            _ = try await client.status()
            await #expect(throws: AuthorizationError.self) { try await client.login("alice", using: .password(Secret("secret"))) }
            #expect(count.value.withLock { $0 } == 2)
        }
    }

    @Test func `cancelling a task ends its wait for the agent`() async throws {
        try await withAgent({ _ in nil }) { (path: String, count: Requests) async throws -> Void in
            let task = Task<StatusDocument, any Error> { try await AgentClient(socketPath: path).status() }
            _ = try await comesTrue { count.value.withLock { $0 } == 1 }
            task.cancel()
            let error = await #expect(throws: AuthorizationError.self) { try await task.value }
            #expect(error?.code == .canceled)
        }
    }

    @Test func `the fallback answers requests while no agent is running`() async throws {
        let fallback = try ScriptedExtension()
        let url = try #require(URL(string: "https://a.localhost/"))
        let client = try await AgentClient.connect(socketPath: "/nonexistent/agent.sock", fallback: fallback)
        #expect(client.decision(for: url) == fallback.decision(for: url))
        guard case .headers(let grant) = try await client.beginAuthorization(with: .init(url: url)) else {
            Issue.record("no headers")
            return
        }
        #expect(grant.principal == "alice@EXAMPLE.TEST" && fallback.requests.count == 1)
        let error = await #expect(throws: AuthorizationError.self) { try await AgentClient.connect(socketPath: "/nonexistent/agent.sock") }
        #expect(error?.code == .agentNotRunning)
    }
}
