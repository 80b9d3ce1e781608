internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A client's connection to a server on loopback, over plain HTTP/1.1, on which a test sends one request after another.
public struct ClientConnection {
    /// A response, read to its end.
    public struct Answer: Sendable {
        /// The status, such as 401.
        public let status: Int
        /// The body as text.
        public let body: String
        private let fields: HTTPHeaders

        fileprivate init(_ head: HTTPResponseHead, body: String) {
            status = Int(head.status.code)
            fields = head.headers
            self.body = body
        }

        /// The values of a header field, in order.
        public subscript(name: String) -> [String] { fields[name] }
    }

    fileprivate typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    fileprivate var parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    fileprivate let output: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>

    /// Sends a request without a body and waits for the response; nil if the server closes the connection instead.
    nonisolated(nonsending) public mutating func get(_ path: String = "/", fields: [String: String] = [:]) async throws -> Answer? {
        let headers = HTTPHeaders([("Host", "localhost")] + fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        // With the head alone the request is complete, and a server may answer it and close before the end could be written.
        try await output.write(contentsOf: [.head(head), .end(nil)])
        guard case .head(let head)? = try await parts.next(isolation: #isolation) else { return nil }
        var body = ""
        while case .body(let bytes)? = try await parts.next(isolation: #isolation) { body += String(buffer: bytes) }
        return Answer(head, body: body)
    }

    /// Waits until the connection closes; false if data arrives instead.
    nonisolated(nonsending) public mutating func ends() async throws -> Bool {
        try await parts.next(isolation: #isolation) == nil
    }
}

/// Runs a closure with a connection to a port of 127.0.0.1, and closes the connection at the end.
nonisolated(nonsending) public func withClientConnection<R: Sendable>(
    port: Int,
    _ body: nonisolated(nonsending) (inout ClientConnection) async throws -> R
) async throws -> R {
    let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try ClientConnection.Channel(wrappingChannelSynchronously: channel)
        }
    }
    return try await channel.executeThenClose { input, output in
        var connection = ClientConnection(parts: input.makeAsyncIterator(), output: output)
        return try await body(&connection)
    }
}
