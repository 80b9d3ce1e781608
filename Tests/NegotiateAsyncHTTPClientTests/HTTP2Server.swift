import AsyncHTTPClient
import HTTPNegotiate
import KerberosTesting
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport

/// An HTTPS server that offers HTTP/2 and HTTP/1.1, with scripted HTTP/2 failures that no web server produces on request.
final class HTTP2Server: Sendable {
    struct Request: Sendable, Hashable {
        let version: Int
        let isAuthorized: Bool
        /// Whether the `Authorization` field was encoded as never indexed.
        var isSensitive = false
        var bodySize = 0
    }

    enum Reply: Sendable {
        case status(Int, [(String, String)] = [])
        /// HTTP_1_1_REQUIRED (RFC 9113 section 7).
        case requireHTTP1
        /// RST_STREAM.
        case reset(HTTP2ErrorCode)
        /// GOAWAY, which includes this request if it is processed, and the end of the connection.
        case goAway(HTTP2ErrorCode, isProcessed: Bool = false)
        /// The end of the connection without GOAWAY.
        case close
    }

    typealias Script = @Sendable (Request) -> Reply

    private let log = Mutex<[Request]>([])
    private let script: Script

    /// The configuration of a client that trusts this server.
    let trustingConfiguration: TLSConfiguration

    private init(_ script: @escaping Script, _ trustingConfiguration: TLSConfiguration) {
        self.script = script
        self.trustingConfiguration = trustingConfiguration
    }

    var requests: [Request] { log.withLock { $0 } }

    func reply(to request: Request) -> Reply {
        log.withLock { $0.append(request) }
        return script(request)
    }

    /// Runs a server while the body runs; the body gets its port.
    static func run(
        _ script: @escaping Script,
        identity: ServerIdentity,
        trustingConfiguration: TLSConfiguration,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (HTTP2Server, Int) async throws -> Void
    ) async throws {
        let server = HTTP2Server(script, trustingConfiguration)
        let context = try NIOSSLContext(configuration: configuration(identity))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let tls = channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                }
                return tls.flatMap {
                    channel.configureHTTP2SecureUpgrade(
                        h2ChannelConfigurator: { server.startHTTP2($0) },
                        http1ChannelConfigurator: { server.startHTTP1($0) }
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(server, channel.localAddress?.port ?? 0)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    private static func configuration(_ identity: ServerIdentity) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificatePath).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.keyPath, format: .pem))
        )
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        return configuration
    }

    private func startHTTP2(_ channel: any Channel) -> EventLoopFuture<Void> {
        let settings =
            nioDefaultSettings.filter { $0.parameter != .maxHeaderListSize } + [HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 20)]
        return channel.configureHTTP2Pipeline(mode: .server, initialLocalSettings: settings) { stream in
            stream.eventLoop.makeCompletedFuture { try stream.pipeline.syncOperations.addHandler(StreamHandler(self)) }
        }.map { _ in }
    }

    private func startHTTP1(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(RequestHandler(self))
        }
    }
}

/// One HTTP/2 stream.
private final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let server: HTTP2Server
    private var request = HTTP2Server.Request(version: 2, isAuthorized: false)

    init(_ server: HTTP2Server) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            let field = frame.headers.first { $0.name == "authorization" }
            request = .init(version: 2, isAuthorized: field != nil, isSensitive: field?.indexable == .neverIndexed)
            if frame.endStream { answer(context) }
        case .data(let frame):
            request.bodySize += frame.data.readableBytes
            if frame.endStream { answer(context) }
        default: break
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        switch server.reply(to: request) {
        case .requireHTTP1: context.writeAndFlush(wrapOutboundOut(.rstStream(.http11Required)), promise: nil)
        case .reset(let code): context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
        case .close: context.channel.parent?.close(promise: nil)
        case .goAway(let code, let isProcessed):
            guard let connection = context.channel.parent else { return }
            context.channel.getOption(HTTP2StreamChannelOptions.streamID).whenSuccess { stream in
                // The client's stream before this one, or none.
                let last = isProcessed ? stream : HTTP2StreamID(max(0, Int(stream) - 2))
                let frame = HTTP2Frame(streamID: .rootStream, payload: .goAway(lastStreamID: last, errorCode: code, opaqueData: nil))
                connection.writeAndFlush(frame).whenComplete { _ in connection.close(promise: nil) }
            }
        case .status(let status, let fields):
            let headers = HPACKHeaders([(":status", "\(status)")] + fields.map { ($0.0.lowercased(), $0.1) })
            context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: headers, endStream: true))), promise: nil)
        }
    }
}

/// One HTTP/1.1 connection.
private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: HTTP2Server
    private var request = HTTP2Server.Request(version: 1, isAuthorized: false)

    init(_ server: HTTP2Server) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = .init(version: 1, isAuthorized: head.headers.contains(name: "Authorization"))
        case .body(let buffer): request.bodySize += buffer.readableBytes
        case .end:
            guard case .status(let status, let fields) = server.reply(to: request) else { return context.close(promise: nil) }
            let head = HTTPResponseHead(
                version: .http1_1,
                status: .init(statusCode: status),
                headers: HTTPHeaders(fields + [("Content-Length", "0")])
            )
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

/// Runs a server, and a client that trusts it; the body gets the server's URL.
func withHTTP2Server(
    extension sso: ScriptedExtension,
    script: @escaping HTTP2Server.Script,
    _ body: (HTTP2Server, String, NegotiatingHTTPClient) async throws -> Void
) async throws {
    try await withTestRealm(users: [:], services: []) { realm in
        let identity = try await realm.makeServerIdentity(host: "a.localhost")
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(identity.certificatePath))
        let configuration = loopback { [tls] in $0.connections.tlsConfiguration = tls }
        try await HTTP2Server.run(script, identity: identity, trustingConfiguration: tls) { server, port in
            try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
                try await body(server, "https://a.localhost:\(port)/", client)
            }
        }
    }
}

extension HTTP2Server {
    /// Runs a closure with a client over an `HTTPClient` that the test created.
    func withGivenClient(
        extension sso: ScriptedExtension,
        isHTTP1Only: Bool = false,
        _ body: (NegotiatingHTTPClient) async throws -> Void
    ) async throws {
        var connections = HTTPClient.Configuration(tlsConfiguration: trustingConfiguration, redirectConfiguration: .disallow)
        connections.dnsOverride = ["a.localhost": "127.0.0.1"]
        var configuration = NegotiatingHTTPClient.Configuration()
        if isHTTP1Only { (connections.httpVersion, configuration.connections.httpVersion) = (.http1Only, .http1Only) }
        let given = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: connections)
        let client = NegotiatingHTTPClient(extension: sso, client: given, unboundTLS: .allowed, configuration: configuration)
        let result: Result<Void, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        try await client.shutdown()
        try await given.shutdown()
        try result.get()
    }
}
