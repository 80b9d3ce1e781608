public import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import Synchronization

/// An HTTP/1.1 server that asks for Kerberos and judges the tokens with this package's own acceptor.
///
/// Unlike Apache it can demand channel bindings, it can be told to break the rules, and it remembers what it was sent. Any path and any
/// method will do: an accepted request gets 200 and `Hello alice@EXAMPLE.TEST`, any other 401. Get one from
/// ``withAcceptorServer(realm:_:_:)``. It is safe to use from any task.
public final class AcceptorServer: Sendable {
    /// The address without a path, such as `https://localhost:40123`.
    public let url: String
    /// The TCP port, at the realm's ``TestRealm/address``.
    public let port: Int
    private let records: Records

    init(host: String, port: Int, usesTLS: Bool, records: Records) {
        self.port = port
        self.records = records
        url = "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The requests so far, unless ``AcceptorServerOptions/recordsRequests`` is off. One is here before the first byte of its answer
    /// leaves.
    public var requests: [Request] { records.requests.withLock { $0 } }

    /// What the connections note.
    final class Records: Sendable {
        fileprivate let requests = Mutex<[Request]>([])
        private let isKept: Bool

        init(isKept: Bool) { self.isKept = isKept }

        func note(_ request: Request) {
            if isKept { requests.withLock { $0.append(request) } }
        }
    }

    /// A request, and what the acceptor made of it.
    public struct Request: Sendable {
        /// Which connection it came over: from 1, in the order in which they were accepted.
        public let connection: Int
        /// Such as `GET`.
        public let method: String
        /// The path with the query, as it was sent.
        public let path: String
        /// Whether there was a field `Authorization`, of whatever scheme.
        public let hasAuthorization: Bool
        /// How many bytes of a body came.
        public let bodyBytes: Int
        /// The user whose token was accepted, with this request or earlier on a bound connection; nil for nobody.
        public internal(set) var initiator: String?
        /// What the accepted context grants; empty where there is none.
        public internal(set) var flags: ContextFlags = []
        /// Why the token was not accepted.
        public internal(set) var refusal: KerberosError?
        /// The status of the answer; 0 where the connection ended without one.
        public internal(set) var status = 401
    }
}

/// How an ``AcceptorServer`` asks and answers.
public struct AcceptorServerOptions: Sendable {
    /// The name by which clients find it, and for which the realm needs a service: `HTTP/` and the name.
    ///
    /// It is a name of the realm's ``TestRealm/address``, in lower case: localhost by default, and one that clients know for another
    /// address.
    public var host: String
    /// The keys with which it accepts; those of all the realm's services if nil.
    public var keytab: String?
    /// The certificate and the key with which it speaks https; plain http if nil.
    public var identity: ServerIdentity?
    /// What it does about channel bindings.
    public var channelBindings: BindingPolicy
    /// Whether one accepted request vouches for the later ones of the same connection, whatever they bring, as with Apache; the answers say
    /// `Persistent-Auth: true` then.
    public var isConnectionBound: Bool
    /// What goes into the place of the token that proves the server.
    public var finalToken: FinalToken
    /// Whether ``AcceptorServer/requests`` has what was sent. Each request takes room until the server ends, whoever sent it.
    public var recordsRequests: Bool
    /// How a request is answered once it has been judged. It runs off the event loop, and may take its time.
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
        answer: @escaping @Sendable (AcceptorServer.Request) -> Answer = { _ in .judged }
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

    /// What a server does about channel bindings (RFC 5929).
    public struct BindingPolicy: Sendable, Hashable {
        /// What the client's are compared with; nil is nothing.
        let bindings: ChannelBindings?
        /// Whether the client has to send some.
        let requiresBindings: Bool

        /// The acceptor has none, and takes no notice of the client's.
        public static let none = BindingPolicy(bindings: nil, requiresBindings: false)

        /// The client's must be the same as these if it sends any.
        public static func compared(_ bindings: ChannelBindings) -> BindingPolicy {
            BindingPolicy(bindings: bindings, requiresBindings: false)
        }

        /// The client's must be there and the same as these.
        public static func required(_ bindings: ChannelBindings) -> BindingPolicy {
            BindingPolicy(bindings: bindings, requiresBindings: true)
        }
    }

    /// What a server sends after an accepted token in `WWW-Authenticate` (RFC 4559 section 5).
    public struct FinalToken: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case sent, dropped
            case replaced([UInt8])
        }

        let kind: Kind

        /// The acceptor's, which proves the server.
        public static let sent = FinalToken(kind: .sent)
        /// None, and no field.
        public static let dropped = FinalToken(kind: .dropped)
        /// Bytes that are no token.
        public static let garbage = replaced(Array("not a token".utf8))

        /// These bytes instead of it.
        public static func replaced(_ bytes: [UInt8]) -> FinalToken { FinalToken(kind: .replaced(bytes)) }
    }

    /// How a request is answered.
    public struct Answer: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case judged, challenged, disconnected
            case status(Int, fields: [String: String])
        }

        let kind: Kind

        /// As the acceptor decided: 200 with the final token, or 401 with a challenge.
        public static let judged = Answer(kind: .judged)
        /// 401 with a new challenge, even if the token was accepted.
        public static let challenged = Answer(kind: .challenged)
        /// None: the connection ends.
        public static let disconnected = Answer(kind: .disconnected)

        /// This status and these fields instead; the final token goes with them if there is one, a challenge does not.
        public static func status(_ status: Int, fields: [String: String] = [:]) -> Answer {
            Answer(kind: .status(status, fields: fields))
        }
    }
}

/// Runs a closure with a server that judges tokens with this package's own acceptor.
///
/// When the closure returns or throws, the port and all connections are closed. The server remembers no authenticators: libkrb5 reads where
/// its replay cache is from the process's environment, and a token that comes twice is Apache's to refuse.
///
/// - Parameters:
///   - realm: The realm whose services' keys accept. Its keytab has to have a key.
///   - options: How the server asks and answers.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
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
        // Fields may be as long as Apache's in this package.
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 131_072
        try pipeline.configureHTTPServerPipeline(withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    } serve: { channel, number in
        let judge = TokenJudge(credential: credential, policy: options.channelBindings)
        try await AcceptorConnection(records: records, options: options, number: number, judge: judge).serve(channel)
    } _: { port in
        try await body(AcceptorServer(host: options.host, port: port, usesTLS: context != nil, records: records))
    }
}

extension ServerIdentity {
    /// What a server needs to show the certificate, over HTTP/1.1.
    package func configuration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }
}
