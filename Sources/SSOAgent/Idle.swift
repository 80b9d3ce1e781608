internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import Synchronization
internal import SystemSupport

extension ServingAgent {
    /// The idle time after which the agent returns unused memory.
    private static let rest = Duration.seconds(10)

    /// Periodically returns memory and removes expired exchanges. Stops the agent if its folder is gone, or if it was idle for
    /// ``AgentOptions/idleExit`` and no session is left whose ticket it would renew.
    func monitorIdleTime(_ api: AgentAPIServer) async {
        let (options, journal) = (agent.options, agent.journal)
        let step = min(.seconds(5), max(options.idleExit.map { $0 / 4 } ?? .seconds(5), .milliseconds(100)))
        let place = FileIdentity(path: options.runtime.path, followsLinks: true)
        var isAtRest = false
        while (try? await Task.sleep(for: step)) != nil {
            guard FileIdentity(path: options.runtime.path, followsLinks: true) == place else {
                journal.failure("\(options.runtime.path): the directory was removed, so no client can find the agent: it exits.")
                return agent.stop()
            }
            api.api.exchanges.removeStale(signedIn: nil)
            let wasAtRest = isAtRest
            isAtRest = activity.idleTime >= Self.rest
            if isAtRest, !wasAtRest { ProcessMemory.giveBackAtRest() }
            guard let limit = options.idleExit, activity.idleTime >= limit, await isIdle(api) else { continue }
            journal.note("the agent was idle for \(limit): it exits. Its tickets are kept for the next start.")
            return agent.stop()
        }
    }

    private func isIdle(_ api: AgentAPIServer) async -> Bool {
        // A card that is inserted signs in only while the agent runs.
        guard cards?.isWanted != true, api.api.connections.count == 0 else { return false }
        guard let list = try? await current.value.sessions() else { return false }
        return !list.sessions.contains(where: \.isSignedIn)
    }

    /// Removes the service tickets and the exchanges of principals that have signed out.
    func forgetSignedOut(_ api: AgentAPIServer) async {
        current.value.forgetServiceTickets()
        // Reading the caches costs more than a change of one, and most changes find no exchange.
        guard api.api.exchanges.count > 0, let list = try? await current.value.sessions() else { return }
        api.api.exchanges.removeStale(signedIn: Set(list.sessions.filter(\.isSignedIn).map(\.principal.description)))
    }
}

/// The time at which a client last used the agent.
final class Activity: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// Records a use.
    ///
    /// - Returns: Whether it is the first use in more than five seconds, so that callers can skip work that is not needed for every use.
    @discardableResult
    func note() -> Bool {
        last.withLock { last in
            let now = ContinuousClock.now
            guard now - last > .seconds(5) else { return false }
            last = now
            return true
        }
    }

    /// The time since the last recorded use.
    var idleTime: Duration { last.withLock { .now - $0 } }
}
