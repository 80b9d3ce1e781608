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
