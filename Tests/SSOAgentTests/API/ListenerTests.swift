import Foundation
import KCM
import KerberosEngine
import NIOCore
import NIOPosix
import SSOAgentClient
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

/// How the API's listening socket is replaced, and how it recovers when file descriptors run out.
struct ListenerTests {
    private let request = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n"

    @Test func `replacing the API's lost socket closes the old listener and keeps connections open`() async throws {
        let folder = "/tmp/api-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, api) = ("\(folder)/agent.sock", AgentAPI.unconfigured())
        let server = AgentAPIServer(api)
        try await server.serve(try ListeningSocket.bind(path: path))
        try await TextConnection.open(path, sending: "\(request)\r\n") { (old: TextConnection) async throws in
            #expect(try await comesTrue { api.connections.count == 1 })
            for _ in 0..<3 {
                #expect(unlink(path) == 0)
                try await server.serve(try ListeningSocket.bind(path: path))
                #expect(try await comesTrue { try listenerCount(at: path) == 1 })
            }
            try await TextConnection.open(path, sending: "\(request)Connection: close\r\n\r\n") { (new: TextConnection) async throws in
                #expect(try await new.answer().hasPrefix("HTTP/1.1 404"))
            }
            try await old.send("\(request)Connection: close\r\n\r\n")
            #expect(try await old.answer().components(separatedBy: "HTTP/1.1 404").count == 3, "both requests are answered")
        }
        await server.shutDown()
        #expect(try await comesTrue { try listenerCount(at: path) == 0 })
    }

    /// The upper bound of the processor time is far above what a pause takes, so a slow machine cannot fail the test.
    @Test(.exitTest, .timeLimit(.minutes(15))) func `the API waits idle while no file descriptor is free and serves again afterwards`()
        async
    {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/api-\(UUID().uuidString.prefix(13))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let (reports, continuation) = AsyncStream.makeStream(of: Report.self)
            let api = AgentAPI.unconfigured { continuation.yield(Report(failure: $0, time: .now, processorTime: clock())) }
            let server = AgentAPIServer(api)
            let path = "\(folder)/agent.sock"
            try await server.serve(try ListeningSocket.bind(path: path))
            let request = Array("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
            let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            let held = takeAllDescriptors()
            connect(client, to: path)
            var iterator = reports.makeAsyncIterator()
            guard let first = await iterator.next(), first.failure == "Too many open files" else { fatalError("no failure reported") }
            for descriptor in held { close(descriptor) }
            guard write(client, request, request.count) == request.count else { fatalError("the request cannot be written") }
            var response = [UInt8](repeating: 0, count: 12)
            guard recv(client, &response, 12, Int32(MSG_WAITALL)) == 12, response == Array("HTTP/1.1 404".utf8) else {
                fatalError("the request is not answered")
            }
            guard let second = await iterator.next(), second.failure == nil else { fatalError("no recovery reported") }
            guard second.time - first.time >= .milliseconds(900) else { fatalError("no pause before the retry") }
            // The pause is a second long.
            let spent = Double(second.processorTime - first.processorTime) / Double(CLOCKS_PER_SEC)
            guard spent < 0.4 else { fatalError("it took \(spent) seconds of processor time") }
            try FileManager.default.removeItem(atPath: folder)  // the process ends without leaving the scope
            endChildProcess()
        }
    }

    /// As when a client connects while the listener closes. SwiftNIO would end the process, so the test is a process of its own.
    @Test(.exitTest) func `a connection that is accepted and never run is closed`() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/api-\(UUID().uuidString.prefix(13))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let setUp = AgentConnectionServer.setUp(for: AgentAPI.unconfigured())
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in setUp(channel).map { _ in } }
                .bind(unixDomainSocketPath: "\(folder)/agent.sock").get()
            try await TextConnection.open("\(folder)/agent.sock") { (client: TextConnection) async throws in
                // Returns when the connection is closed.
                let answer = try await client.answer()
                try #require(answer.isEmpty)
            }
            try await listener.close()
            try FileManager.default.removeItem(atPath: folder)  // the process ends without leaving the scope
            endChildProcess()
        }
    }

    private struct Report: Sendable {
        let failure: String?
        let time: ContinuousClock.Instant
        let processorTime: clock_t
    }
}
