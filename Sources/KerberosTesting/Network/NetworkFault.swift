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

/// By what a client and a KDC exchange messages (RFC 4120 section 7.2).
public struct NetworkTransports: OptionSet, Sendable, Hashable {
    /// One bit for each.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Datagrams, one for a request and one for its reply.
    public static let udp = NetworkTransports(rawValue: 1)
    /// Connections, in which the length stands before each message.
    public static let tcp = NetworkTransports(rawValue: 2)
    /// UDP and TCP.
    public static let both: NetworkTransports = [.udp, .tcp]
}

extension NetworkTransports: CustomStringConvertible {
    /// Such as `udp and tcp`.
    public var description: String {
        let names = (contains(.udp) ? ["udp"] : []) + (contains(.tcp) ? ["tcp"] : [])
        return names.isEmpty ? "neither udp nor tcp" : names.joined(separator: " and ")
    }
}

/// Which fault meets which request, and what has gone by. It stands behind a lock, so that it resumes nobody: see ``EndedWait``.
struct FaultPlan {
    private struct Rule {
        var fault = NetworkFault.pass
        /// How many requests it is still for; nil for all.
        var remaining: Int?
    }

    private struct Waiter {
        let number: Int
        let count: Int
        let continuation: CheckedContinuation<[KDCExchange], any Error>
    }

    private var rules: [NetworkTransports: Rule] = [:]
    private var waiters: [Waiter] = []
    private var lastWaiter = 0
    private(set) var exchanges: [KDCExchange] = []
    private(set) var hasEnded = false

    mutating func set(_ fault: NetworkFault, on transports: NetworkTransports, remaining: Int?) {
        for transport in [NetworkTransports.udp, .tcp] where transports.contains(transport) {
            rules[transport] = Rule(fault: remaining == 0 ? .pass : fault, remaining: remaining)
        }
    }

    func refuses(_ transport: NetworkTransports) -> Bool { rules[transport]?.fault == .refuse }

    /// Notes a request that has arrived; the index is where its reply is to be noted.
    mutating func take(
        _ message: KDCExchange.Message?,
        size: Int,
        over transport: NetworkTransports
    ) -> (index: Int, fault: NetworkFault, ended: [EndedWait]) {
        var rule = rules[transport] ?? Rule()
        let fault = rule.fault
        if let remaining = rule.remaining { rule = remaining > 1 ? Rule(fault: fault, remaining: remaining - 1) : Rule() }
        rules[transport] = rule
        exchanges.append(KDCExchange(transport: transport, request: message, requestSize: size, fault: fault))
        let ready = waiters.filter { $0.count <= exchanges.count }
        waiters.removeAll { $0.count <= exchanges.count }
        return (exchanges.count - 1, fault, ready.map { EndedWait($0.continuation, .success(exchanges)) })
    }

    mutating func replied(_ message: KDCExchange.Message?, size: Int, to index: Int) {
        exchanges[index].reply = message
        exchanges[index].replySize = size
    }

    mutating func newWaiter() -> Int {
        lastWaiter += 1
        return lastWaiter
    }

    /// Begins a wait, unless it is over at once.
    mutating func wait(for count: Int, number: Int, _ continuation: CheckedContinuation<[KDCExchange], any Error>) -> EndedWait? {
        if exchanges.count >= count { return EndedWait(continuation, .success(exchanges)) }
        if hasEnded { return EndedWait(continuation, .failure(KDCNetwork.scopeEnded)) }
        if Task.isCancelled { return EndedWait(continuation, .failure(CancellationError())) }
        waiters.append(Waiter(number: number, count: count, continuation: continuation))
        return nil
    }

    mutating func stopWaiting(_ number: Int) -> EndedWait? {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
        return EndedWait(waiters.remove(at: index).continuation, .failure(CancellationError()))
    }

    mutating func end() -> [EndedWait] {
        hasEnded = true
        defer { waiters = [] }
        return waiters.map { EndedWait($0.continuation, .failure(KDCNetwork.scopeEnded)) }
    }
}

/// A wait for requests that is over, for whoever has let go of the plan's lock.
///
/// The runtime resumes a task under a lock of the task's own, and holds the same one while the task's cancellation handler asks for the
/// plan's: whoever resumed the task under the plan's lock could wait for the handler, and the handler for them, for ever.
struct EndedWait: Sendable {
    private let continuation: CheckedContinuation<[KDCExchange], any Error>
    private let result: Result<[KDCExchange], any Error>

    init(_ continuation: CheckedContinuation<[KDCExchange], any Error>, _ result: Result<[KDCExchange], any Error>) {
        self.continuation = continuation
        self.result = result
    }

    /// Tells who waited.
    func resume() { continuation.resume(with: result) }
}
