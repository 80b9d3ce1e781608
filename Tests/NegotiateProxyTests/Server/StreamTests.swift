import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import NegotiateProxy

/// What a connection keeps in memory, and the order of what it sends.
@Suite struct StreamTests {
    @Test func `bytes that were used are not kept, whatever the pieces in which the rest arrives`() {
        let handler = StreamHandler()
        handler.append(ByteBuffer(string: "5\r\n"))
        for _ in 1...10_000 {
            handler.append(ByteBuffer(string: "hello\r\n5\r\n"))
            handler.received.moveReaderIndex(forwardBy: 10)
        }
        #expect(handler.received.readableBytes == 3)
        #expect(handler.received.capacity < 1024)
    }

    @Test func `an interim response is not sent behind the final one`() async throws {
        try await withEcho { port in
            let stream = try await Self.stream(to: port)
            try await stream.writeInterim(Array("100 ".utf8))
            try await stream.write(Array("200 ".utf8))
            try await stream.writeInterim(Array("late ".utf8))
            // The next request begins.
            await stream.beginBody(.untilClose)
            try await stream.writeInterim(Array("100".utf8))
            try await stream.channel.close(mode: .output).get()
            var text = ""
            while case .content(let bytes) = try await stream.bodyPart() { text += String(buffer: bytes) }
            #expect(text == "100 200 100, and the end")
            stream.close()
        }
    }

    @Test func `a body is sent once, and not after the final response`() async throws {
        try await withEcho { port in
            let stream = try await Self.stream(to: port)
            let body = RequestBody(.length(5), from: stream, isAwaited: false)
            #expect(try !body.claim { false })
            #expect(body.isReplayable)
            #expect(try body.claim { true })
            #expect(!body.isReplayable)
            #expect(throws: ProxyFailure.self) { try body.claim { true } }
            stream.close()
        }
    }

    @Test func `the status lists the last 64 proxies`() {
        let activity = ProxyActivity()
        for number in 1...70 { activity.note(ProxyServer(host: "proxy\(number).example", port: 3128), isReachable: true) }
        #expect(activity.status.upstreams.map(\.server) == (7...70).map { "proxy\($0).example:3128" })
    }

    private static func stream(to port: Int) async throws -> MessageStream {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture { try MessageStream(channel, idleTime: .seconds(30)) }
            }
    }
}
