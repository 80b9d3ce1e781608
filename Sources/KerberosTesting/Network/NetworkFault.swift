/// What a ``KDCNetwork`` does to what passes between clients and the KDC.
///
/// A direction says which half of an exchange suffers: with `.drop(.reply)` the KDC has decided and counted already, with `.drop(.request)`
/// it has seen nothing.
public struct NetworkFault: Sendable, Hashable {
    /// A half of an exchange.
    public enum Direction: Sendable, Hashable {
        /// What the client sends.
        case request
        /// What the KDC answers.
        case reply
    }

    enum Kind: Sendable, Hashable {
        case pass, drop, corrupt, refuse, blackHole, replyTooBig
        case delay(Duration)
        case truncate(length: Int)
        case error(KDCErrorCode)
    }

    let kind: Kind
    let direction: Direction

    private init(_ kind: Kind, _ direction: Direction = .request) {
        self.kind = kind
        self.direction = direction
    }

    /// Nothing: what comes in goes out.
    public static let pass = NetworkFault(.pass)
    /// The request gets lost: a datagram never arrives, a TCP connection is closed unanswered.
    public static let drop = NetworkFault(.drop)
    /// The port is closed: connections are reset, datagrams answered by ICMP's "port unreachable".
    public static let refuse = NetworkFault(.refuse)
    /// Everything is taken and nothing answered; TCP connections stay open until the client closes them.
    public static let blackHole = NetworkFault(.blackHole)
    /// A datagram is answered by `KRB_ERR_RESPONSE_TOO_BIG`, on which a client goes on with TCP. TCP passes.
    public static let replyTooBig = NetworkFault(.replyTooBig)
    /// Every bit of the reply's second half is inverted.
    public static let corrupt = NetworkFault(.corrupt, .reply)

    /// A request or a reply gets lost: a datagram never arrives, a TCP connection is closed.
    public static func drop(_ direction: Direction) -> NetworkFault { NetworkFault(.drop, direction) }

    /// A request or a reply, the request by default, waits before it is passed on; others may overtake it.
    public static func delay(_ duration: Duration, _ direction: Direction = .request) -> NetworkFault {
        NetworkFault(.delay(duration), direction)
    }

    /// Every bit of the second half of a request or of a reply is inverted.
    public static func corrupt(_ direction: Direction) -> NetworkFault { NetworkFault(.corrupt, direction) }

    /// Only the first bytes arrive, by default those of the reply. Over TCP the length that was announced stays, and the connection is
    /// closed after them.
    public static func truncate(to length: Int, _ direction: Direction = .reply) -> NetworkFault {
        NetworkFault(.truncate(length: max(0, length)), direction)
    }

    /// The request is answered by a `KRB-ERROR` (RFC 4120 section 5.9.1) with this code, and the KDC sees nothing of it.
    public static func error(_ code: KDCErrorCode) -> NetworkFault { NetworkFault(.error(code)) }
}

extension NetworkFault: CustomStringConvertible {
    /// The kind of fault and the half that it meets.
    public var description: String {
        switch kind {
        case .drop, .corrupt, .delay, .truncate: "\(kind) of the \(direction)"
        case .pass, .refuse, .blackHole, .replyTooBig, .error: "\(kind)"
        }
    }
}
