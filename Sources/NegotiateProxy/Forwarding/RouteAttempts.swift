/// The routes of one request, of which one after another is tried.
struct RouteAttempts: Sendable {
    private let target: RouteTarget
    private let dialer: Dialer
    private var rest: ArraySlice<ProxyRoute>
    private var failures: [ProxyFailure] = []

    init(_ routes: [ProxyRoute], to target: RouteTarget, _ dialer: Dialer) {
        (rest, self.target, self.dialer) = (routes[...], target, dialer)
    }

    var hasNext: Bool { !rest.isEmpty }

    /// Connects by the next route that works.
    ///
    /// - Throws: ``ProxyFailure`` with what failed before, if none does.
    mutating func connect() async throws -> OutgoingConnection {
        while let route = rest.popFirst() {
            try Task.checkCancellation()
            do {
                return try await dialer.connect(by: route, to: target)
            } catch let failure as ProxyFailure {
                try Task.checkCancellation()
                failures.append(failure)
            }
        }
        guard let first = failures.first else { throw ProxyFailure(502, "No route to \(target.host) is configured.") }
        guard failures.count > 1 else { throw first }
        throw ProxyFailure(first.status, failures.map(\.message).joined(separator: " "), challenges: first.challenges)
    }

    /// Records a failure that says nothing about the upstream proxy.
    mutating func skip(_ failure: ProxyFailure) { failures.append(failure) }

    /// Records that an upstream proxy accepted a connection, and did not answer.
    mutating func leave(_ server: ProxyServer, _ failure: ProxyFailure) async {
        failures.append(failure)
        await dialer.report(server, isEstablished: false)
    }
}
