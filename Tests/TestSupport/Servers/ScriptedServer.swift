internal import Foundation
package import KerberosTesting
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A raw HTTP/1.1 server on 127.0.0.1 that replies according to a script and records the requests.
package final class ScriptedServer: Sendable {
    package struct Request: Sendable {
        /// The number of the connection, from 1 in the order of their first requests.
        package var connection = 0
        package var method = ""
        package var target = ""
        package var fields: [(name: String, value: String)] = []
        package var body = ""
        /// The request line and the fields as they were received, with the empty line.
        package var head = ""

        package func field(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package enum Reply: Sendable {
        case response(Int, [(String, String)] = [], body: String = "")
        /// A response with `Connection: close`, after which the server closes the connection.
        case closing(Int, [(String, String)] = [], body: String = "")
        /// Sends these bytes and closes the connection.
        case raw(String)
        /// Sends these bytes and closes the connection without an end of TLS, as an attacker on the network can.
        case cut(String)
        /// Sends these bytes and nothing more.
        case partial(String)
        case drop
        case silence

        package static let challenge = Reply.response(401, [("WWW-Authenticate", "Negotiate")], body: "who are you?")

        package static func redirect(_ status: Int, to location: String) -> Reply {
            .response(status, [("Location", location)], body: "moved")
        }
    }

    package enum Event: Sendable, Equatable {
        case request(connection: Int)
        case closed(connection: Int)
    }

    package typealias Script = @Sendable (Request) -> Reply

    /// The events in order, for a single reader.
    package let events: AsyncStream<Event>
    private let log = Mutex<[Request]>([])
    private let connections = Mutex(0)
    private let script: Script
    /// Text that is sent on each new connection, as no HTTP server does.
    fileprivate let greeting: String?
    /// Answers the head of a request whose client waits for 100 (Continue), or waits for the body too.
    private let early: @Sendable (Request) -> Reply?
    private let continuation: AsyncStream<Event>.Continuation
    private let listener = Mutex<(any Channel)?>(nil)

    private init(_ script: @escaping Script, greeting: String?, early: @escaping @Sendable (Request) -> Reply?) {
        (self.script, self.greeting, self.early) = (script, greeting, early)
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Runs a server while the body runs. With identities it uses TLS, and presents the next of them on each new connection.
    package static func run<Return>(
        _ script: @escaping Script,
        greeting: String? = nil,
        identities: [ServerIdentity] = [],
        early: @escaping @Sendable (Request) -> Reply? = { _ in nil },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ScriptedServer) async throws -> Return
    ) async throws -> Return {
        let server = ScriptedServer(script, greeting: greeting, early: early)
        let contexts = try identities.map { try NIOSSLContext(configuration: $0.configuration()) }
        let turn = Counter()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !contexts.isEmpty {
                        let context = contexts[(turn.next() - 1) % contexts.count]
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(ConnectionHandler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.listener.withLock { $0 = channel }
        do {
            let result = try await body(server)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    package var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }
    package var requests: [Request] { log.withLock { $0 } }
    /// The heads of the requests.
    package var heads: [String] { requests.map(\.head) }

    fileprivate func nextConnection() -> Int {
        connections.withLock { number in
            number += 1
            return number
        }
    }

    fileprivate func reply(to request: Request) -> Reply {
        log.withLock { $0.append(request) }
        continuation.yield(.request(connection: request.connection))
        return script(request)
    }

    fileprivate func earlyReply(to request: Request) -> Reply? {
        guard let reply = early(request) else { return nil }
        log.withLock { $0.append(request) }
        return reply
    }

    fileprivate func closed(_ connection: Int) { continuation.yield(.closed(connection: connection)) }
}

private final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: ScriptedServer
    private var received = ""
    private var connection = 0
    /// Whether the head of the next request was offered for an early reply.
    private var isOffered = false

    init(_ server: ScriptedServer) { self.server = server }

    func channelActive(context: ChannelHandlerContext) {
        guard let greeting = server.greeting else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += String(buffer: unwrapInboundIn(data))
        if connection == 0 { connection = server.nextConnection() }
        while var request = nextRequest() {
            request.connection = connection
            isOffered = false
            perform(server.reply(to: request), method: request.method, context: context)
        }
        if !isOffered, var request = nextHead()?.request, request.field("Expect") == "100-continue" {
            request.connection = connection
            isOffered = true
            if let reply = server.earlyReply(to: request) { perform(reply, method: request.method, context: context) }
        }
        guard received.utf8.first == Self.tlsHandshake else { return }
        received = ""
        perform(server.reply(to: ScriptedServer.Request(connection: connection)), method: "", context: context)
    }

    /// The first byte of a TLS handshake record (RFC 8446 section 5.1). A server without TLS answers it like a request.
    private static let tlsHandshake: UInt8 = 22

    func channelInactive(context: ChannelHandlerContext) { server.closed(connection) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ reply: ScriptedServer.Reply, method: String, context: ChannelHandlerContext) {
        switch reply {
        case .silence: break
        case .drop: context.close(promise: nil)
        case .partial(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .raw(let text):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            context.close(promise: nil)
        case .cut(let text):
            context.write(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            // Closed from below TLS.
            let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
            context.flush()
            (tls ?? context).close(promise: nil)
        case .response(let status, let fields, let body):
            let text = Self.head(status, fields, length: body.utf8.count) + (method == "HEAD" ? "" : body)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .closing(let status, let fields, let body):
            let head = Self.head(status, fields + [("Connection", "close")], length: body.utf8.count)
            perform(.raw(head + (method == "HEAD" ? "" : body)), method: method, context: context)
        }
    }

    private static func head(_ status: Int, _ fields: [(String, String)], length: Int) -> String {
        "HTTP/1.1 \(status) Scripted\r\nContent-Length: \(length)\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    }

    /// Removes the next complete request from the received text.
    private func nextRequest() -> ScriptedServer.Request? {
        guard var (request, rest) = nextHead() else { return nil }
        if request.field("Transfer-Encoding") == "chunked" {
            guard let body = ConnectionHandler.chunks(&rest) else { return nil }
            request.body = body
        } else if let length = request.field("Content-Length").flatMap({ Int($0) }) {
            guard rest.utf8.count >= length else { return nil }
            request.body = String(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        received = String(rest)
        return request
    }

    /// The next request without its body, and what follows its head.
    private func nextHead() -> (request: ScriptedServer.Request, rest: Substring)? {
        guard let end = received.range(of: "\r\n\r\n") else { return nil }
        let lines = received[..<end.lowerBound].split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var request = ScriptedServer.Request(method: String(words[0]), target: String(words[1]))
        request.head = String(received[..<end.upperBound])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            request.fields.append((String(parts[0]), parts.last.map { String($0.drop(while: { $0 == " " })) } ?? ""))
        }
        return (request, received[end.upperBound...])
    }

    /// Reads a chunked body of ASCII characters; nil while it is incomplete.
    private static func chunks(_ rest: inout Substring) -> String? {
        var body = ""
        while let end = rest.range(of: "\r\n"), let size = Int(rest[..<end.lowerBound], radix: 16) {
            let chunk = rest[end.upperBound...]
            guard chunk.utf8.count >= size + 2 else { return nil }
            body += chunk.prefix(size)
            // CR LF is a single Character.
            rest = chunk.dropFirst(size + 1)
            if size == 0 { return body }
        }
        return nil
    }
}
