/// A fault that a ``KDCNetwork`` applies to the messages between clients and the KDC.
///
/// The direction is the half of an exchange that is affected: with `.drop(.reply)` the KDC has already processed and counted the request,
/// with `.drop(.request)` it has not received it.
public struct NetworkFault: Sendable, Hashable {
    /// A half of an exchange.
    public enum Direction: Sendable, Hashable {
        /// The message from the client.
        case request
        /// The message from the KDC.
        case reply
    }

    enum Kind: Sendable, Hashable {
        case pass, drop, corrupt, refuse, blackHole, replyTooBig, unreadableReply
        case delay(Duration)
        case truncate(length: Int)
        case error(KDCErrorCode)
        case referral(realm: String)
    }

    let kind: Kind
    let direction: Direction

    private init(_ kind: Kind, _ direction: Direction = .request) {
        self.kind = kind
        self.direction = direction
    }

    /// No fault: messages pass unchanged.
    public static let pass = NetworkFault(.pass)
    /// The request is lost: a datagram is dropped, a TCP connection is closed without a reply.
    public static let drop = NetworkFault(.drop)
    /// The port is closed: connections are reset, datagrams get an ICMP “port unreachable”.
    public static let refuse = NetworkFault(.refuse)
    /// Requests are accepted but not answered. TCP connections stay open until the client closes them.
    public static let blackHole = NetworkFault(.blackHole)
    /// A datagram is answered with `KRB_ERR_RESPONSE_TOO_BIG`, after which the client retries over TCP. TCP passes.
    public static let replyTooBig = NetworkFault(.replyTooBig)
    /// Every bit of the reply's second half is inverted.
    public static let corrupt = NetworkFault(.corrupt, .reply)

    /// A request or a reply is lost: a datagram is dropped, a TCP connection is closed.
    public static func drop(_ direction: Direction) -> NetworkFault { NetworkFault(.drop, direction) }

    /// A request (the default) or a reply is delayed; other messages may overtake it.
    public static func delay(_ duration: Duration, _ direction: Direction = .request) -> NetworkFault {
        NetworkFault(.delay(duration), direction)
    }

    /// Every bit of the second half of a request or a reply is inverted.
    public static func corrupt(_ direction: Direction) -> NetworkFault { NetworkFault(.corrupt, direction) }

    /// Only the first bytes of a request or a reply (the default) arrive. Over TCP the announced length stays unchanged, and the connection
    /// is closed after them.
    public static func truncate(to length: Int, _ direction: Direction = .reply) -> NetworkFault {
        NetworkFault(.truncate(length: max(0, length)), direction)
    }

    /// The request is answered with a `KRB-ERROR` (RFC 4120 section 5.9.1) with this code; the KDC does not receive it.
    public static func error(_ code: KDCErrorCode) -> NetworkFault { NetworkFault(.error(code)) }

    /// The last bit of an AS-REP (RFC 4120 section 5.4.2) is inverted, so that the client cannot decrypt it. Other replies pass unchanged.
    package static let unreadableReply = NetworkFault(.unreadableReply, .reply)

    /// The request is answered with `KDC_ERR_WRONG_REALM`, which refers the client to another realm (RFC 6806 section 7).
    package static func referral(to realm: String) -> NetworkFault { NetworkFault(.referral(realm: realm)) }
}

extension NetworkFault: CustomStringConvertible {
    /// The kind of fault and the affected direction.
    public var description: String {
        switch kind {
        case .drop, .corrupt, .delay, .truncate: "\(kind) of the \(direction)"
        case .pass, .refuse, .blackHole, .replyTooBig, .unreadableReply, .error, .referral: "\(kind)"
        }
    }
}

/// The transports for messages between a client and a KDC (RFC 4120 section 7.2).
public struct NetworkTransports: OptionSet, Sendable, Hashable {
    /// One bit for each transport.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// UDP: one datagram for a request and one for its reply.
    public static let udp = NetworkTransports(rawValue: 1)
    /// TCP: each message has a length prefix.
    public static let tcp = NetworkTransports(rawValue: 2)
    /// UDP and TCP.
    public static let both: NetworkTransports = [.udp, .tcp]
}

extension NetworkTransports: CustomStringConvertible {
    /// The transports, such as `udp and tcp`.
    public var description: String {
        let names = (contains(.udp) ? ["udp"] : []) + (contains(.tcp) ? ["tcp"] : [])
        return names.isEmpty ? "neither udp nor tcp" : names.joined(separator: " and ")
    }
}

/// The active faults, the recorded exchanges, and the tasks waiting for them. Because it is protected by a lock, it never resumes a task
/// itself: see ``EndedWait``.
struct FaultPlan {
    private struct Rule {
        var fault = NetworkFault.pass
        /// The remaining number of requests; nil for all.
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

    /// Records a request; the index identifies it for its reply.
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

    /// Adds a waiting task, unless its wait is over at once.
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

/// A finished wait, to be resumed after the plan's lock has been released.
///
/// The runtime resumes a task under a lock of that task, and holds the same lock while the task's cancellation handler waits for the plan's
/// lock. Resuming the task under the plan's lock could therefore deadlock.
struct EndedWait: Sendable {
    private let continuation: CheckedContinuation<[KDCExchange], any Error>
    private let result: Result<[KDCExchange], any Error>

    init(_ continuation: CheckedContinuation<[KDCExchange], any Error>, _ result: Result<[KDCExchange], any Error>) {
        self.continuation = continuation
        self.result = result
    }

    /// Resumes the waiting task.
    func resume() { continuation.resume(with: result) }
}
