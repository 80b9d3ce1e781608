public import Kerberos

/// How an ``AcceptorServer`` asks and answers.
public struct AcceptorServerOptions: Sendable {
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
    /// How a request is answered once it has been judged. It runs off the event loop, and may take its time.
    public var answer: @Sendable (AcceptorServer.Request) -> Answer

    /// Creates options; each has a default.
    public init(
        keytab: String? = nil,
        identity: ServerIdentity? = nil,
        channelBindings: BindingPolicy = .none,
        isConnectionBound: Bool = false,
        finalToken: FinalToken = .sent,
        answer: @escaping @Sendable (AcceptorServer.Request) -> Answer = { _ in .judged }
    ) {
        self.keytab = keytab
        self.identity = identity
        self.channelBindings = channelBindings
        self.isConnectionBound = isConnectionBound
        self.finalToken = finalToken
        self.answer = answer
    }

    /// What a server does about channel bindings (RFC 5929).
    public enum BindingPolicy: Sendable, Hashable {
        /// The acceptor has none, and takes no notice of the client's.
        case none
        /// The client's must be the same as these if it sends any.
        case compared(ChannelBindings)
        /// The client's must be there and the same as these.
        case required(ChannelBindings)

        var bindings: ChannelBindings? {
            switch self {
            case .none: nil
            case .compared(let bindings), .required(let bindings): bindings
            }
        }
    }

    /// What a server sends after an accepted token in `WWW-Authenticate` (RFC 4559 section 5).
    public enum FinalToken: Sendable, Hashable {
        /// The acceptor's, which proves the server.
        case sent
        /// None, and no field.
        case dropped
        /// These bytes instead of it.
        case replaced([UInt8])

        /// Bytes that are no token.
        public static let garbage = FinalToken.replaced(Array("not a token".utf8))
    }

    /// How a request is answered.
    public enum Answer: Sendable {
        /// As the acceptor decided: 200 with the final token, or 401 with a challenge.
        case judged
        /// 401 with a new challenge, even if the token was accepted.
        case challenged
        /// This status and these fields instead; the final token goes with them if there is one, a challenge does not.
        case status(Int, fields: [String: String] = [:])
    }
}
