import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import KCM

/// How a server accepts connections after the process has run out of file descriptors.
@Suite(.timeLimit(.minutes(15))) struct AcceptPauseTests {
    /// Yields once for each accept failure and forwards the error to the handler under test.
    private final class FailureCount: ChannelInboundHandler, Sendable {
        typealias InboundIn = any Channel

        private let failures: AsyncStream<Void>.Continuation
        init(_ failures: AsyncStream<Void>.Continuation) { self.failures = failures }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            failures.yield()
            context.fireErrorCaught(error)
        }
    }

    private final class Greeting: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "served")), promise: nil)
        }
    }

    /// Only a lower bound is checked, so a slow machine cannot fail the test. Without the pause, the second failure follows at once.
    @Test(.exitTest) func `a server without a free file descriptor accepts again after a pause`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                let pause = TimeAmount.milliseconds(300)
                let (failures, continuation) = AsyncStream.makeStream(of: Void.self)
                let reports = Mutex<[String?]>([])
                let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .serverChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(FailureCount(continuation))
                            let handler = AcceptPauseHandler(pause: pause) { reason in reports.withLock { $0.append(reason) } }
                            try channel.pipeline.syncOperations.addHandler(handler)
                        }
                    }
                    .childChannelInitializer { channel in
                        AcceptPauseHandler.connectionIsSetUp(channel)
                        return channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Greeting()) }
                    }
                    .bind(unixDomainSocketPath: "\(folder)/socket").get()
                let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                let held = takeAllDescriptors()
                let start = ContinuousClock.now
                connect(client, to: "\(folder)/socket")
                var iterator = failures.makeAsyncIterator()
                for _ in 0..<3 { await iterator.next() }
                guard ContinuousClock.now - start >= .milliseconds(600) else { fatalError("the server retries without a pause") }
                for descriptor in held { close(descriptor) }
                var buffer = [UInt8](repeating: 0, count: 6)
                guard read(client, &buffer, 6) == 6, String(decoding: buffer, as: UTF8.self) == "served" else {
                    fatalError("the connection is not served")
                }
                guard reports.withLock({ $0.count == 2 && $0[0] != nil && $0[1] == nil }) else { fatalError("each failure is reported") }
                withExtendedLifetime(server) {}
                endChildProcess()
            }
        }
    }

    /// Counts the accepted connections.
    private final class AcceptCount: ChannelInboundHandler, Sendable {
        typealias InboundIn = any Channel

        let count = Atomic(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            count.add(1, ordering: .relaxed)
            context.fireChannelRead(data)
        }
    }

    @Test func `a server accepts few connections at a time while their event loop is busy`() async throws {
        let (serverGroup, group) = (MultiThreadedEventLoopGroup(numberOfThreads: 1), MultiThreadedEventLoopGroup(numberOfThreads: 1))
        let accepted = AcceptCount()
        try await withFolder { folder in
            let server = try await ServerBootstrap(group: serverGroup, childGroup: group)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(accepted)
                        try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler { _ in })
                    }
                }
                .childChannelInitializer { channel in
                    AcceptPauseHandler.connectionIsSetUp(channel)
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .bind(unixDomainSocketPath: "\(folder)/socket").get()
            let free = DispatchSemaphore(value: 0)
            group.next().execute { free.wait() }
            var clients: [Int32] = []
            defer { for client in clients { close(client) } }
            for _ in 0..<50 {
                clients.append(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
                connect(clients[clients.count - 1], to: "\(folder)/socket")
            }
            let isFull = try await comesTrue { accepted.count.load(ordering: .relaxed) >= 8 }
            // The server polls its socket before each of these tasks.
            for _ in 0..<3 { try await serverGroup.next().scheduleTask(in: .milliseconds(1)) {}.futureResult.get() }
            let count = accepted.count.load(ordering: .relaxed)
            free.signal()
            #expect(isFull && count <= 12, "\(count) connections were accepted")
            #expect(try await comesTrue { accepted.count.load(ordering: .relaxed) == 50 })
            try await server.close()
        }
        try await group.shutdownGracefully()
        try await serverGroup.shutdownGracefully()
    }

    @Test(.exitTest) func `the KCM server accepts connections again when file descriptors are free`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                let reports = Recorded<ServerReport>()
                let (failures, continuation) = AsyncStream.makeStream(of: Void.self)
                var options = KCMServer.Options.forEveryone()
                options.report = { report in
                    reports.append(report)
                    continuation.yield()
                }
                let server = try KCMServer(options)
                try await server.serve(try ListeningSocket.bind(path: "\(folder)/kcm.sock"))
                let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                let held = takeAllDescriptors()
                connect(client, to: "\(folder)/kcm.sock")
                for await _ in failures { break }
                for descriptor in held { close(descriptor) }
                let request = requestBytes(.noOperation)
                guard write(client, request, request.count) == request.count else { fatalError("the request cannot be written") }
                var reply = [UInt8](repeating: 1, count: 12)
                guard read(client, &reply, 12) == 12, reply == [0, 0, 0, 4] + [UInt8](repeating: 0, count: 8) else {
                    fatalError("the request is not answered")
                }
                guard reports.all == [.acceptFailed("Too many open files"), .acceptsAgain] else { fatalError("\(reports.all)") }
                await server.shutDown()
                endChildProcess()
            }
        }
    }

    /// The server may hold more caches than the process may have open files.
    @Test(.exitTest) func `a cache holds no file descriptor open`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                var disk = try Disk(folder)
                for number in 0..<60 {
                    guard disk.send(.initialize, "\(number)", Sample.alice) == .ok,
                        disk.send(.store, "\(number)", Sample.ticket(1).bytes) == .ok
                    else { fatalError("cache \(number) is refused") }
                }
                guard filesHeldOpen(in: folder).isEmpty else { fatalError("caches stay open: \(filesHeldOpen(in: folder))") }
                guard try Disk(folder).state == disk.state else { fatalError("the state differs after a restart") }
                endChildProcess()
            }
        }
    }
}

/// The files in a folder that this process has open. Files that libraries open elsewhere are not counted.
private func filesHeldOpen(in folder: String) -> [String] {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let paths = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    return paths.filter { $0.hasPrefix(folder + "/") }
}
