internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import Synchronization
internal import UnixSystem

extension Agent {
    /// After so long without anybody who needs it the agent keeps no more memory than it must.
    private static let rest = Duration.seconds(10)

    /// Every now and then gives back memory, and ends what nobody will take up again; and, where that is wanted, the agent itself when
    /// nobody has needed it for long and nobody is signed in, whose ticket it would renew.
    func lookAround(_ api: AgentAPI, _ current: CurrentExtension, _ activity: Activity) async {
        let step = min(.seconds(5), max(options.idleExit.map { $0 / 4 } ?? .seconds(5), .milliseconds(100)))
        let place = FileIdentity(path: options.runtime.path, followsLinks: true)
        var isAtRest = false
        while (try? await Task.sleep(for: step)) != nil {
            guard FileIdentity(path: options.runtime.path, followsLinks: true) == place else {
                journal.failure("\(options.runtime.path): the folder is gone, and nobody finds the agent any more: it ends.")
                return stop()
            }
            api.exchanges.removeStale(signedIn: nil)
            let wasAtRest = isAtRest
            isAtRest = activity.idleTime >= Self.rest
            if isAtRest, !wasAtRest { ProcessMemory.giveBackAtRest() }
            guard let limit = options.idleExit, activity.idleTime >= limit, await isIdle(api, current) else { continue }
            journal.note("nobody has needed the agent for \(limit): it ends. What it keeps stays for the next one.")
            return stop()
        }
    }

    private func isIdle(_ api: AgentAPI, _ current: CurrentExtension) async -> Bool {
        guard api.connections.count == 0, let list = try? await current.value.sessions() else { return false }
        return !list.sessions.contains(where: \.isSignedIn)
    }

    /// Ends the exchanges of those who have signed out.
    static func endStaleExchanges(of api: AgentAPI, _ current: CurrentExtension) async {
        guard let list = try? await current.value.sessions() else { return }
        api.exchanges.removeStale(signedIn: Set(list.sessions.filter(\.isSignedIn).map(\.principal.description)))
    }
}

/// When somebody last needed the agent.
final class Activity: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// Somebody does now.
    ///
    /// - Returns: Whether nobody did for some seconds: what follows from it need not follow each time.
    @discardableResult
    func note() -> Bool {
        last.withLock { last in
            let now = ContinuousClock.now
            guard now - last > .seconds(5) else { return false }
            last = now
            return true
        }
    }

    /// For how long nobody has.
    var idleTime: Duration { last.withLock { .now - $0 } }
}
