internal import ExtensionProfile
internal import Foundation
internal import KCM
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

/// An agent that serves: its extension, its caches, and the parts that keep the sessions alive.
struct ServingAgent: Sendable {
    let agent: Agent
    let current: CurrentExtension
    let keeper: SessionKeeper
    let activity = Activity()
    let login: LoginWatch
    /// The server of the agent's own caches; nil if the tickets are in the system's default cache.
    let caches: KCMServer?
    /// The sign-in with the agent's own keytab, if it has one.
    let signIn: KeytabSignIn?
    /// Signs in when a smart card is inserted; nil for an agent with a keytab, which serves no person.
    let cards: CardSignIn?
    /// The principals whose tickets were moved from the system's default cache when the agent started.
    let moved: [String]

    /// Serves the agent's caches, and imports the tickets of the system's default cache.
    ///
    /// - Parameters:
    ///   - agent: The agent.
    ///   - current: The extension.
    ///   - socket: The socket of the caches; nil if the tickets are in the system's default cache.
    ///   - changed: Called when a cache was created or has lost tickets.
    init(
        _ agent: Agent,
        _ current: CurrentExtension,
        _ socket: consuming ListeningSocket?,
        changed: @escaping @Sendable () -> Void
    ) async throws {
        self.agent = agent
        self.current = current
        let program = agent.options.runProgram.map { EventRuns($0, agent.journal) }
        keeper = SessionKeeper(current, SessionReports(events: agent.events, journal: agent.journal, program: program))
        login = agent.makeLoginWatch(current)
        if let socket = socket.take() {
            let server = try KCMServer(agent.cacheOptions(current, keeper, activity, changed: changed))
            try await server.serve(socket)
            caches = server
        } else {
            caches = nil
        }
        let imported = await firstResult(within: Self.importLimit.patient, cancelsLateWork: false) { await agent.importTickets() }
        moved = imported?.map(\.description) ?? []
        if imported == nil {
            agent.journal.failure("the system's default cache does not respond, so its tickets are not imported yet.")
        }
        cards = agent.options.keytab == nil ? CardSignIn(current, journal: agent.journal) { [keeper] in keeper.poke() } : nil
        signIn = agent.options.keytab.map { KeytabSignIn($0, current: current, journal: agent.journal) }
    }

    /// The time limit for importing the system's default cache, which may be served by a process that does not answer.
    private static let importLimit = Duration.seconds(5)

    /// Applies changed profiles to krb5.conf, the extension, the access policy and the sessions; returns false if the active profiles stay.
    func activate(_ profiles: [Profile]) async -> Bool {
        let successor: KerberosExtension
        do {
            successor = try await agent.options.makeExtension(profiles, agent.files.cacheSocket)
            try agent.files.writeConfiguration(successor.policy)
        } catch {
            agent.journal.failure("the profiles have changed, but cannot be activated: \(error)")
            return false
        }
        let predecessor = current.value
        current.replace(with: successor)
        predecessor.forgetServiceTickets()
        await caches?.closeConnections { [current] in current.access.permitsCaches($0) }
        keeper.configure(successor.policy.configurations)
        return true
    }
}

extension ServingAgent: AgentAPIDelegate {
    func processStatus() async -> StatusDocument.Process {
        var process = StatusDocument.Process(processID: getpid(), started: agent.started)
        let reading = agent.profiles.lastReading
        process.profilesRead = reading.date
        process.profiles = reading.sources
        process.messages = agent.journal.recent
        process.log = agent.options.logFile
        if let caches {
            let counts = await caches.counts
            process.cacheConnections = counts.reduce(0) { $0 + $1.connections }
            process.caches = counts.reduce(0) { $0 + $1.caches }
            process.tickets = counts.reduce(0) { $0 + $1.tickets }
        }
        return process
    }

    func stop() { agent.stop() }

    func sessionsChanged() { keeper.poke() }

    func hasSignedIn(realm: String, principal: String?) async -> Bool {
        await signIn?.hasSignedIn(realm: realm, principal: principal) ?? false
    }

    func noteUse(of principal: String) {
        activity.note()
        keeper.noteUse(of: principal)
    }

    var isScreenLocked: Bool { login.isScreenLocked }

    func acceptsConnections(failure reason: String?) { agent.journal.acceptsConnections(failure: reason) }
}

extension Agent {
    /// The configuration of the server of the agent's own caches.
    fileprivate func cacheOptions(
        _ current: CurrentExtension,
        _ keeper: SessionKeeper,
        _ activity: Activity,
        changed: @escaping @Sendable () -> Void
    ) -> KCMServer.Options {
        let (descriptors, processors) = (ProcessProtection.fileLimit, ProcessInfo.processInfo.processorCount)
        return KCMServer.Options(
            directory: options.tickets,
            storeLimits: StoreLimits(caches: options.maximumCaches),
            retention: retention,
            limits: ServerLimits(totals: .agent(descriptors: descriptors, processors: processors)),
            isPermitted: { peer in
                guard current.access.permitsCaches(peer) else { return false }
                // Not each connection counts as a use, because a program opens one for each cache that it uses.
                if peer.processID != getpid(), activity.note() { keeper.noteUse(of: nil) }
                return true
            },
            observer: { event in
                activity.note()
                if [.destroyed, .initialized, .removed].contains(event.kind) { changed() }
                keeper.poke()
            },
            report: { [journal] in journal.add($0) }
        )
    }
}
