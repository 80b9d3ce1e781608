public import Kerberos

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
