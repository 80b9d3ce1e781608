internal import Kerberos
internal import KerberosEngine

extension Agent {
    /// Every now and then ends what nobody will take up again; and, where that is wanted, the agent itself when nobody has needed it for
    /// long and nobody is signed in, whose ticket it would renew.
    func lookAround(_ api: AgentAPI, _ current: CurrentExtension, _ activity: Activity) async {
        let step = min(.seconds(60), max(options.idleExit.map { $0 / 4 } ?? .seconds(60), .milliseconds(100)))
        while (try? await Task.sleep(for: step)) != nil {
            api.exchanges.removeStale(signedIn: nil)
            guard let limit = options.idleExit, activity.idleTime >= limit, await isIdle(api, current) else { continue }
            options.log("nobody has needed the agent for \(limit): it ends. What it keeps stays for the next one.")
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
