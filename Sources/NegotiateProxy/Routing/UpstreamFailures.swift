internal import Synchronization

/// The upstream proxies that could not be reached a short time ago, so that other routes are tried before them.
///
/// A failed server is put behind the other routes until its retry time. Then one request tries it again at its place in the list, while
/// the others still prefer the rest: a server that drops packets delays one request in each interval.
package final class UpstreamFailures: Sendable {
    /// The greatest number of servers that are remembered, because a PAC file can name any number.
    private static let limit = 256

    private let retryInterval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let retryTimes = Mutex<[ProxyServer: ContinuousClock.Instant]>([:])

    /// Creates the record without failures.
    ///
    /// - Parameters:
    ///   - retryInterval: The time after which a failed server is tried at its place again.
    ///   - now: A clock that does not jump.
    package init(
        retryInterval: Duration = .seconds(30),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        (self.retryInterval, self.now) = (retryInterval, now)
    }

    /// The routes with those through failed servers last. No route is removed, so that all servers are tried when all have failed.
    package func order(_ routes: [ProxyRoute]) -> [ProxyRoute] {
        retryTimes.withLock { times in
            guard !times.isEmpty else { return routes }
            let present = now()
            let failed = routes.filter { route in
                guard case .upstream(let server) = route, let time = times[server] else { return false }
                guard time <= present else { return true }
                times[server] = present + retryInterval
                return false
            }
            return routes.filter { !failed.contains($0) } + failed
        }
    }

    /// Records that a connection to a server was established or failed.
    package func record(_ server: ProxyServer, isEstablished: Bool) {
        retryTimes.withLock { times in
            if isEstablished {
                times[server] = nil
                return
            }
            times[server] = now() + retryInterval
            guard times.count > Self.limit, let oldest = times.min(by: { $0.value < $1.value }) else { return }
            times[oldest.key] = nil
        }
    }

    /// The servers whose last connection failed, in alphabetical order.
    package var servers: [ProxyServer] {
        retryTimes.withLock { $0.keys.sorted { ($0.host, $0.port) < ($1.host, $1.port) } }
    }
}
