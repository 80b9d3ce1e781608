public import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import Synchronization

/// An HTTP/1.1 server that requests Negotiate authentication and accepts tokens with this package's own acceptor.
///
/// Unlike Apache it can require channel bindings, violate the protocol on request, and record the requests. It serves any path and method:
/// an accepted request gets 200 and `Hello alice@EXAMPLE.TEST`, any other 401. Created by ``withAcceptorServer(realm:_:_:)``. Safe to use
/// from any task.
public final class AcceptorServer: Sendable {
    /// The URL without a path, such as `https://localhost:40123`.
    public let url: String
    /// The TCP port, at the realm's ``TestRealm/address``.
    public let port: Int
    private let records: Records

    init(host: String, port: Int, usesTLS: Bool, records: Records) {
        self.port = port
        self.records = records
        url = "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The requests so far, unless ``AcceptorServerOptions/recordsRequests`` is off. A request is recorded before the first byte of its
    /// response is sent.
    public var requests: [Request] { records.requests.withLock { $0 } }

    /// The requests recorded by all connections.
    final class Records: Sendable {
        fileprivate let requests = Mutex<[Request]>([])
        private let isKept: Bool

        init(isKept: Bool) { self.isKept = isKept }

        func note(_ request: Request) {
            if isKept { requests.withLock { $0.append(request) } }
        }
    }

    /// A request, and the acceptor's decision.
    public struct Request: Sendable {
        /// The number of the connection, from 1 in the order in which they were accepted.
        public let connection: Int
        /// The method, such as `GET`.
        public let method: String
        /// The path and the query, as sent.
        public let path: String
        /// Whether the request had an `Authorization` field, of any scheme.
        public let hasAuthorization: Bool
        /// The length of the body in bytes.
        public let bodyBytes: Int
        /// The user whose token was accepted, with this request or earlier on a bound connection; nil if none was.
        public internal(set) var initiator: String?
        /// The flags of the accepted context; empty if there is none.
        public internal(set) var flags: ContextFlags = []
        /// The reason why the token was not accepted.
        public internal(set) var refusal: KerberosError?
        /// The status of the response; 0 if the connection closed without one.
        public internal(set) var status = 401
    }
}

/// The options of an ``AcceptorServer``.
public struct AcceptorServerOptions: Sendable {
    /// The host name of the server, for which the realm needs the service `HTTP/` and this name.
    ///
    /// In lower case, it must resolve to the realm's ``TestRealm/address``. The default is localhost; with another address, give a name
    /// that clients can resolve.
    public var host: String
    /// The keytab with the acceptor's keys; nil for the realm's keytab.
    public var keytab: String?
    /// The certificate and the key for https; nil for http.
    public var identity: ServerIdentity?
    /// The channel-binding policy.
    public var channelBindings: BindingPolicy
    /// Whether one accepted request authenticates all later ones of the same connection, whatever they contain, as with Apache. The
    /// responses then contain `Persistent-Auth: true`.
    public var isConnectionBound: Bool
    /// The token sent in place of the one that authenticates the server.
    public var finalToken: FinalToken
    /// Whether ``AcceptorServer/requests`` records the requests. Each one uses memory until the server ends.
    public var recordsRequests: Bool
    /// Decides how a request is answered after its token has been processed. Runs off the event loop, and may block.
    public var answer: @Sendable (AcceptorServer.Request) -> Answer

    /// Creates options; each has a default.
    public init(
        host: String = "localhost",
        keytab: String? = nil,
        identity: ServerIdentity? = nil,
        channelBindings: BindingPolicy = .none,
        isConnectionBound: Bool = false,
        finalToken: FinalToken = .sent,
        recordsRequests: Bool = true,
        answer: @escaping @Sendable (AcceptorServer.Request) -> Answer = { _ in .negotiated }
    ) {
        self.host = host
        self.keytab = keytab
        self.identity = identity
        self.channelBindings = channelBindings
        self.isConnectionBound = isConnectionBound
        self.finalToken = finalToken
        self.recordsRequests = recordsRequests
        self.answer = answer
    }

    /// A server's policy for channel bindings (RFC 5929).
    public struct BindingPolicy: Sendable, Hashable {
        /// The expected bindings; nil if they are not compared.
        let bindings: ChannelBindings?
        /// Whether the client must send bindings.
        let requiresBindings: Bool

        /// The acceptor has no bindings, and ignores the client's.
        public static let none = BindingPolicy(bindings: nil, requiresBindings: false)

        /// If the client sends bindings, they must be equal to these.
        public static func compared(_ bindings: ChannelBindings) -> BindingPolicy {
            BindingPolicy(bindings: bindings, requiresBindings: false)
        }

        /// The client must send bindings that are equal to these.
        public static func required(_ bindings: ChannelBindings) -> BindingPolicy {
            BindingPolicy(bindings: bindings, requiresBindings: true)
        }
    }

    /// The token that a server sends in `WWW-Authenticate` after accepting a request (RFC 4559 section 5).
    public struct FinalToken: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case sent, dropped
            case replaced([UInt8])
        }

        let kind: Kind

        /// The acceptor's token, which authenticates the server.
        public static let sent = FinalToken(kind: .sent)
        /// No token and no field.
        public static let dropped = FinalToken(kind: .dropped)
        /// Bytes that are not a valid token.
        public static let garbage = replaced(Array("not a token".utf8))

        /// These bytes instead of the acceptor's token.
        public static func replaced(_ bytes: [UInt8]) -> FinalToken { FinalToken(kind: .replaced(bytes)) }
    }

    /// The response to a request.
    public struct Answer: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case negotiated, challenged, disconnected
            case status(Int, fields: [String: String])
        }

        let kind: Kind

        /// The acceptor's decision: 200 with the final token, or 401 with a challenge.
        public static let negotiated = Answer(kind: .negotiated)
        /// 401 with a new challenge, even if the token was accepted.
        public static let challenged = Answer(kind: .challenged)
        /// No response: the connection closes.
        public static let disconnected = Answer(kind: .disconnected)

        /// This status and these fields instead. The final token is included if there is one; a challenge is not.
        public static func status(_ status: Int, fields: [String: String] = [:]) -> Answer {
            Answer(kind: .status(status, fields: fields))
        }
    }
}

/// Runs a closure with a server that accepts tokens with this package's own acceptor.
///
/// When the closure returns or throws, the port and all connections close. The server has no replay cache, because libkrb5 takes its
/// location from the process's environment; use Apache to test that a repeated token is refused.
///
/// - Parameters:
///   - realm: The realm whose service keys the acceptor uses. Its keytab must have a key.
///   - options: The options of the server.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
nonisolated(nonsending) public func withAcceptorServer<R>(
    realm: TestRealm,
    _ options: AcceptorServerOptions = .init(),
    _ body: nonisolated(nonsending) (AcceptorServer) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    try ListeningAddress.checkName(options.host, of: realm.address)
    let credential = try AcceptorCredential(keytab: options.keytab ?? realm.keytabPath, replayCache: .disabled)
    let context = try options.identity.map { try NIOSSLContext(configuration: $0.configuration()) }
    let records = AcceptorServer.Records(isKept: options.recordsRequests)
    return try await withHTTPServer(at: realm.address) { pipeline in
        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
        // The same limit on header fields as for this package's Apache server.
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 131_072
        try pipeline.configureHTTPServerPipeline(withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    } serve: { channel, number in
        let acceptor = TokenAcceptor(credential: credential, policy: options.channelBindings)
        try await AcceptorConnection(records: records, options: options, number: number, acceptor: acceptor).serve(channel)
    } _: { port in
        try await body(AcceptorServer(host: options.host, port: port, usesTLS: context != nil, records: records))
    }
}

extension ServerIdentity {
    /// Returns the TLS configuration of a server with this certificate that speaks HTTP/1.1.
    package func configuration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }
}
