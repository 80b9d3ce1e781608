import Foundation
import HTTPNegotiate
import Logging
import NIOCore
import NIOPosix
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// Routes that a test chooses, and what the proxy reports about them.
final class ScriptedRoutes: RouteSource {
    private let choice: @Sendable (RouteTarget) throws(RoutingError) -> [ProxyRoute]
    private let log = Mutex<[RouteTarget]>([])
    private let reports = Mutex<[String]>([])

    var targets: [RouteTarget] { log.withLock { $0 } }
    /// Such as `127.0.0.1:1 failed`.
    var endings: [String] { reports.withLock { $0 } }

    init(_ choice: @escaping @Sendable (RouteTarget) throws(RoutingError) -> [ProxyRoute]) { self.choice = choice }

    convenience init(_ routes: ProxyRoute...) { self.init { (_) throws(RoutingError) in routes } }

    func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute] {
        log.withLock { $0.append(target) }
        return try choice(target)
    }

    func connectionEnded(to server: ProxyServer, isEstablished: Bool) async {
        reports.withLock { $0.append("\(server) \(isEstablished ? "established" : "failed")") }
    }
}

/// A running proxy on loopback.
struct RunningProxy: Sendable {
    let proxy: LocalProxy
    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }
    var status: ProxyStatus { get async { await proxy.status } }
}

/// Runs a proxy for this user while the body runs.
func withProxy<R: Sendable>(
    credentials: (any CredentialExtension)? = nil,
    routes: any RouteSource = ScriptedRoutes(.direct),
    change: (inout ProxyConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (RunningProxy) async throws -> R
) async throws -> R {
    var configuration = ProxyConfiguration(listeners: [.tcp(host: "127.0.0.1", port: 0)], users: [geteuid()])
    configuration.limits.gracePeriod = .milliseconds(100)
    change(&configuration)
    let extensionOfTest: any CredentialExtension = if let credentials { credentials } else { try ScriptedExtension() }
    let proxy = LocalProxy(configuration: configuration, credentials: extensionOfTest, routes: routes, logger: Logger(label: "test"))
    let (addresses, continuation) = AsyncStream.makeStream(of: [String].self)
    return try await withThrowingTaskGroup(of: R?.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await proxy.run { continuation.yield($0) }
            return nil
        }
        group.addTask {
            var iterator = addresses.makeAsyncIterator()
            let first = await iterator.next()?.first ?? ""
            return try await body(RunningProxy(proxy: proxy, port: Int(first.split(separator: ":").last ?? "") ?? 0))
        }
        var result: R?
        while let value = try await group.next() {
            if let value {
                result = value
                group.cancelAll()
            }
        }
        return try #require(result)
    }
}

/// A TCP connection on which a test sends and receives text.
enum RawConnection {
    final class Reader {
        fileprivate var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        fileprivate let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
        /// Text that was received and not returned.
        var rest = ""

        fileprivate init(
            _ iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
            _ writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            self.iterator = iterator
            self.writer = writer
        }

        nonisolated(nonsending) func send(_ text: String) async throws { try await writer.write(ByteBuffer(string: text)) }

        /// Ends the sending direction.
        func finish() { writer.finish() }

        /// Returns the text up to and including a mark; what was received so far if the connection ends before.
        nonisolated(nonsending) func text(upTo mark: String) async throws -> String {
            while true {
                if let range = rest.range(of: mark) {
                    defer { rest = String(rest[range.upperBound...]) }
                    return String(rest[..<range.upperBound])
                }
                guard let bytes = try await iterator.next(isolation: #isolation) else {
                    defer { rest = "" }
                    return rest
                }
                rest += String(buffer: bytes)
            }
        }

        /// Returns the text up to the end of the connection.
        nonisolated(nonsending) func textToEnd() async throws -> String {
            do {
                while let bytes = try await iterator.next(isolation: #isolation) { rest += String(buffer: bytes) }
            } catch is IOError {
                // The connection was reset.
            }
            return rest
        }

        nonisolated(nonsending) func head() async throws -> String { try await text(upTo: "\r\n\r\n") }
    }
}

/// Runs a closure with a connection to a port of 127.0.0.1.
func withRawConnection<R: Sendable>(
    port: Int,
    _ body: @Sendable (RawConnection.Reader) async throws -> R
) async throws -> R {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.allowRemoteHalfClosure, value: true)
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(isOutboundHalfClosureEnabled: true)
                )
            }
        }
    return try await channel.executeThenClose { input, output in
        try await body(RawConnection.Reader(input.makeAsyncIterator(), output))
    }
}
