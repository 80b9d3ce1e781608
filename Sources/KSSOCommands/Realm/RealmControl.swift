internal import Foundation
internal import KerberosTesting
internal import NIOCore
internal import NIOPosix

/// The socket by which `ksso realm fault` and `ksso realm kdc` control the enclosing `ksso realm run`. Each connection carries one line in
/// each direction.
struct RealmControl: Sendable {
    /// The variable with the socket's path, for the command that runs in the realm.
    static let variable = "KSSO_REALM_CONTROL"

    /// Whether the caller runs in a realm of `ksso realm run`.
    static func isInside(_ environment: [String: String]) -> Bool { environment[variable]?.isEmpty == false }

    /// Refuses what would write paths of the realm, which ends, into the caller's home, which stays.
    static func refuseInside(environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandFailure) {
        guard isInside(environment) else { return }
        let sentence =
            "this shell runs in a realm of ksso realm run, whose files are temporary, so your home is not configured for it. ksso login works here; "
            + "run this command outside the realm."
        throw CommandFailure(.failed, sentence)
    }

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
        guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else {
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

/// A change to a running realm.
struct RealmOrder: Codable, Sendable {
    enum Action: Codable, Sendable {
        /// A fault in text form, for these transports and this many requests; nil means until it is changed.
        case fault(String, onUDP: Bool, onTCP: Bool, next: Int?)
        /// An action on a KDC, numbered from 1.
        case kdc(KDCAction, number: Int)
        /// The offset of the KDCs' clock in seconds.
        case clock(seconds: Int)
    }

    enum KDCAction: String, Codable, CaseIterable, Sendable {
        case stop, start, pause, resume
    }

    /// The realm; nil means the first one.
    var realm: String?
    var action: Action
}

extension RealmOrder {
    /// Performs the order. Throws `KerberosTestingError`.
    func perform(in realms: [TestRealm]) async throws {
        guard let realm = realm.map({ name in realms.first { $0.name == name } }) ?? realms.first else {
            throw KerberosTestingError(
                .invalidArgument,
                "There is no realm \(self.realm ?? ""); the realms are \(realms.map(\.name).joined(separator: ", "))."
            )
        }
        switch action {
        case .fault(let words, let onUDP, let onTCP, let next):
            guard let fault = NetworkFault(words: words) else { throw KerberosTestingError(.invalidArgument, NetworkFault.forms) }
            guard !realm.networks.isEmpty else {
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(realm.name) was started without support for faults. Start it with ksso realm run --fault pass, or add faults: true to the plan."
                )
            }
            let transports: NetworkTransports = if onUDP == onTCP { .both } else { onUDP ? .udp : .tcp }
            for network in realm.networks {
                try await network.set(fault, on: transports, for: next.map { .next($0) } ?? .untilChanged)
            }
        case .kdc(let action, let number):
            let count = realm.kdcPorts.count
            guard (1...count).contains(number) else {
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(realm.name) has no KDC \(number): there \(count == 1 ? "is 1" : "are \(count), counted from 1")."
                )
            }
            let number = number - 1
            switch action {
            case .stop: try await realm.stopKDC(number)
            case .start: try await realm.startKDC(number)
            case .pause: try await realm.pauseKDC(number)
            case .resume: try await realm.resumeKDC(number)
            }
        case .clock(let seconds): try await realm.setKDCClock(offset: .seconds(seconds))
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
