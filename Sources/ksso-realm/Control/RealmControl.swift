internal import CommandSupport
internal import Foundation
internal import KerberosTesting
internal import NIOCore
internal import NIOPosix
internal import SystemSupport

/// The socket by which `ksso realm fault` and `ksso realm kdc` control the enclosing `ksso realm run`. Each connection carries one line in
/// each direction.
struct RealmControl: Sendable {
    let path: String
    let perform: @Sendable (RealmOrder) async throws -> Void

    /// Serves while a body runs. A connection without traffic does not delay the others, and ends with this process at the latest.
    nonisolated(nonsending) func serve<Value>(_ body: nonisolated(nonsending) () async throws -> Value) async throws -> Value {
        let short = try ShortSocketPath(path)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(OrderHandler(reply: self.reply)) }
            }
            .bind(unixDomainSocketPath: short.path).get()
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try? await listener.close()
        return try result.get()
    }

    @Sendable private func reply(to line: Data) async -> String {
        do {
            try await perform(try JSONDecoder().decode(RealmOrder.self, from: line))
            return ""
        } catch let error as KerberosTestingError {
            return error.message
        } catch {
            return "\(error)"
        }
    }

    /// Sends an order to the enclosing `ksso realm run`. Throws ``CommandFailure`` with its message.
    static func send(_ order: RealmOrder) async throws {
        guard let path = ProcessInfo.processInfo.environment[EnclosingRealm.controlVariable], !path.isEmpty else {
            throw CommandFailure(.usage, "this command works only inside a realm: ksso realm run … -- COMMAND")
        }
        let reply: String
        do {
            let short = try ShortSocketPath(path)
            let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(unixDomainSocketPath: short.path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let line = try JSONEncoder().encode(order) + Data("\n".utf8)
            reply = try await connection.executeThenClose { input, output in
                try await output.write(ByteBuffer(bytes: line))
                var text = ByteBuffer()
                for try await part in input { text.writeImmutableBuffer(part) }
                return String(buffer: text)
            }
        } catch {
            throw CommandFailure(
                .failed,
                "the realm does not answer at \(path), because it has stopped. Start it again with: ksso realm run"
            )
        }
        let words = reply.trimmingCharacters(in: .newlines)
        guard words.isEmpty else { throw CommandFailure(.failed, words) }
    }
}

/// Reads one line, answers with one line, and closes the connection.
private final class OrderHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let reply: @Sendable (Data) async -> String
    private var text = ByteBuffer()

    init(reply: @escaping @Sendable (Data) async -> String) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text.writeImmutableBuffer(unwrapInboundIn(data))
        guard text.readableBytes <= 4096 else { return context.close(promise: nil) }
        guard text.readableBytesView.last == UInt8(ascii: "\n") else { return }
        let (channel, line) = (context.channel, Data(text.readableBytesView))
        text.clear()
        Task { [reply] in
            try? await channel.writeAndFlush(ByteBuffer(string: await reply(line) + "\n"))
            try? await channel.close()
        }
    }
}

/// A path for a socket that fits into a socket address (107 bytes), however long the path of the socket's folder is.
///
/// The folder is open while the path is in use; releasing this value closes it.
struct ShortSocketPath: ~Copyable {
    private let folder: Int32
    let path: String

    /// Throws ``CommandFailure`` if the folder does not exist.
    init(_ path: String) throws {
        let place = URL(fileURLWithPath: path)
        folder = open(place.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw CommandFailure(.failed, "\(path): \(String(cString: strerror(errno))).") }
        self.path = "/proc/self/fd/\(folder)/\(place.lastPathComponent)"
    }

    deinit { close(folder) }
}
