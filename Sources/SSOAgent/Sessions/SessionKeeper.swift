package import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import Synchronization

/// Keeps the sessions alive, and ends them when the profiles say so: carries out what a ``SessionSchedule`` decides, and tells the
/// ``EventHub``.
///
/// Isolation: what it is told comes by an inbox from any thread; the schedule is the actor's own.
package actor SessionKeeper {
    private let current: CurrentExtension
    private let events: EventHub
    private let clock: any WakeClock
    private let network: AsyncStream<Void>?
    private let happened: @Sendable (SessionEvent) -> Void
    private let log: @Sendable (String) -> Void
    private let note: @Sendable (String) -> Void
    nonisolated let inbox = KeeperInbox()
    private var schedule: SessionSchedule
    private var tasks: [Work: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?
    /// A storm of changes is looked at every now and then, not change by change.
    private var lookNotBefore = -Double.infinity
    private var wantsLook = true

    /// So many leave memory behind that is worth giving back.
    private static let manyTickets = 1000

    private enum Work: Hashable {
        case refresh(SeenSession.Key)
        case probe(String)
        case signOut(String)
        case network
    }

    /// - Parameters:
    ///   - current: The extension whose sessions are kept.
    ///   - events: Who is told.
    ///   - clock: What time it is.
    ///   - network: Yields when the machine's network may have changed; nil is never.
    ///   - schedule: What decides; by default one for the extension's profiles.
    ///   - happened: Hears what happens to each session.
    ///   - log: Gets a line for each failure, with no secrets in it.
    ///   - note: Gets a line for each sign-out that no person or program asked for.
    package init(
        _ current: CurrentExtension,
        events: EventHub,
        clock: any WakeClock = SystemClock(),
        network: AsyncStream<Void>? = nil,
        schedule: SessionSchedule? = nil,
        happened: @escaping @Sendable (SessionEvent) -> Void = { _ in },
        log: @escaping @Sendable (String) -> Void = { _ in },
        note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.current = current
        self.events = events
        self.clock = clock
        self.network = network
        var schedule = schedule ?? SessionSchedule(current.value.policy.configurations)
        schedule.began = clock.now.wall
        self.schedule = schedule
        self.happened = happened
        self.log = log
        self.note = note
    }

    /// The sessions may have changed: look. It costs next to nothing to say so often.
    package nonisolated func poke() { inbox.wantLook() }

    /// A principal's tickets were used; nil is everybody's. It puts off the end of an idle session.
    package nonisolated func noteUse(of principal: String?) { inbox.noteUse(of: principal, at: clock.now) }

    /// The user has locked the screen, or left.
    package nonisolated func note(_ change: LoginChange) { inbox.put { $0.logins.insert(change) } }

    /// Other profiles are in force, and the extension has been replaced.
    package nonisolated func configure(_ configurations: [ExtensionConfiguration]) {
        inbox.put {
            $0.configurations = configurations
            $0.isPoked = true
        }
    }

    /// Works until the task is canceled; what is under way is canceled with it, and has ended when this returns. Run it once.
    package func run() async {
        if let network {
            tasks[.network] = Task { [inbox] in
                for await _ in network { inbox.put { $0.hasNetworkChanged = true } }
            }
        }
        poke()
        for await _ in inbox.rings { await turn() }
        timer?.cancel()
        await timer?.value
        for task in tasks.values { task.cancel() }
        for task in tasks.values { await task.value }
    }

    private func turn() async {
        let contents = inbox.take()
        // A session that began a moment ago ends with its profile as well.
        if contents.configurations != nil { await look() }
        take(contents)
        // Whoever signed in a moment ago is among those who are signed out.
        if !contents.logins.isEmpty { (wantsLook, lookNotBefore) = (true, clock.now.uptime) }
        if wantsLook, clock.now.uptime >= lookNotBefore { await look() }
        let now = clock.now
        for change in contents.logins { schedule.note(change, at: now) }
        for action in schedule.actions(at: now) { carryOut(action) }
        for event in schedule.takeHappenings() { happened(event) }
        let wait = wantsLook ? min(schedule.wait(at: now), lookNotBefore - now.uptime) : schedule.wait(at: now)
        // What the clock can't tell apart would make it turn without end.
        setTimer(at: now.uptime + max(wait, 0.01))
    }

    private func take(_ contents: KeeperInbox.Contents) {
        let now = clock.now
        if let configurations = contents.configurations { schedule.configure(configurations, at: now) }
        for (principal, moment) in contents.uses { schedule.noteUse(of: principal, at: moment) }
        for result in contents.results {
            wantsLook = true
            switch result {
            case .refresh(let key, let outcome):
                tasks[.refresh(key)] = nil
                schedule.refreshFinished(key, outcome, at: now)
            case .probe(let realm, let isReachable):
                tasks[.probe(realm)] = nil
                schedule.probeFinished(realm: realm, isReachable: isReachable, at: now)
            case .signOut(let principal, let ended):
                tasks[.signOut(principal)] = nil
                schedule.signOutFinished(principal, ended: ended, at: now)
            }
            lookNotBefore = now.uptime
        }
        if contents.hasNetworkChanged { schedule.networkChanged(at: now) }
        if contents.isPoked { wantsLook = true }
    }

    /// Reads the caches. One that can't be read leaves all as it was.
    private func look() async {
        let begun = clock.awake
        inbox.willLook()
        do throws(KerberosError) {
            let seen = try await current.value.sessions().sessions.map(SeenSession.init)
            schedule.observe(seen, at: clock.now)
            // Every ticket was read.
            if seen.reduce(0, { $0 + $1.services.count }) > Self.manyTickets { ProcessMemory.giveBackFreed() }
        } catch {
            log("the credential caches can't be read: \(error)")
        }
        wantsLook = false
        // At most a twentieth of the time is spent looking. What the machine slept meanwhile does not count.
        lookNotBefore = clock.now.uptime + max(1, 20 * (clock.awake - begun))
    }

    private func setTimer(at uptime: Double) {
        timer?.cancel()
        timer = Task { [inbox, clock] in
            guard (try? await clock.sleep(until: uptime)) != nil else { return }
            inbox.put { $0.isPoked = true }
        }
    }
}

extension SessionKeeper {
    private func carryOut(_ action: SessionSchedule.Action) {
        switch action {
        case .send(let event): events.send(event)
        case .refresh(let key): refresh(key)
        case .abandon(let key): tasks[.refresh(key)]?.cancel()
        case .probe(let realm, let principal):
            tasks[.probe(realm)] = Task { [inbox, kerberos = current.value] in
                let isReachable = await kerberos.reachesKDC(of: realm, askingFor: principal)
                inbox.put { $0.results.append(.probe(realm: realm, isReachable: isReachable)) }
            }
        case .signOut(let principal, let includingOthers): signOut(principal, includingOthers: includingOthers)
        }
    }

    private func refresh(_ key: SeenSession.Key) {
        let due = schedule.entries[key]?.session.ticket
        tasks[.refresh(key)] = Task { [inbox, log, kerberos = current.value] in
            let outcome: RefreshOutcome
            do throws(KerberosError) {
                // Looked up for this alone: no copy of the keys is kept here.
                let session = try await kerberos.sessions().sessions.first { SeenSession.Key($0) == key }
                // Another ticket than the one that is due is what is wanted.
                if let session, SeenSession(session).ticket == due { try await kerberos.refresh(session) }
                outcome = session == nil ? .gone : .refreshed
            } catch {
                outcome = RefreshOutcome(error)
                log("the ticket of \(key.principal) was not got anew: \(error)")
            }
            inbox.put { $0.results.append(.refresh(key, outcome)) }
        }
    }

    private func signOut(_ principal: String, includingOthers: Bool) {
        let reason = schedule.signOutReasons.removeValue(forKey: principal)
        tasks[.signOut(principal)] = Task { [inbox, log, note, kerberos = current.value] in
            var ended: Set<SeenSession.Key>?
            do throws(KerberosError) {
                let result = try await kerberos.signOut(try Principal(principal), includingOthers: includingOthers)
                ended = Set(result.ended.map(SeenSession.Key.init))
                if !result.ended.isEmpty { note("\(principal) was signed out\(reason.map { " \($0.description)" } ?? "").") }
            } catch {
                log("\(principal) was not signed out: \(error)")
            }
            inbox.put { [ended] in $0.results.append(.signOut(principal: principal, ended: ended)) }
        }
    }
}

/// What has come in for a keeper since it last looked. What comes many times in between is there once.
final class KeeperInbox: Sendable {
    struct Contents {
        /// The caches may have changed.
        var isPoked = false
        var hasNetworkChanged = false
        /// Whose tickets were used last when; nil is everybody's.
        var uses: [String?: Moment] = [:]
        var logins: Set<LoginChange> = []
        var configurations: [ExtensionConfiguration]?
        var results: [KeeperResult] = []
    }

    /// Yields when there is something to take, once for all that comes in until it is taken.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    /// Nil when nothing has come in.
    private let contents = Mutex<Contents?>(nil)
    private let isLookWanted = Atomic(false)
    private let uses = Mutex<[String?: Moment]>([:])

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func put(_ change: (inout Contents) -> Void) {
        let isFirst = contents.withLock { contents in
            let isFirst = contents == nil
            var changed = contents.take() ?? Contents()
            change(&changed)
            contents = changed
            return isFirst
        }
        if isFirst { bell.yield() }
    }

    /// The caches may have changed. Until the keeper looks it is told once: thousands of changes come in the second before.
    func wantLook() {
        guard !isLookWanted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        put { $0.isPoked = true }
    }

    /// What changes from now on may be missed by the look that begins.
    func willLook() { isLookWanted.store(false, ordering: .sequentiallyConsistent) }

    /// Notes a use, of which there may be thousands a second: it wakes nobody, since it is of interest only when something else is done.
    func noteUse(of principal: String?, at moment: Moment) { uses.withLock { $0[principal] = moment } }

    func take() -> Contents {
        var taken = contents.withLock { $0.take() } ?? Contents()
        taken.uses = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        return taken
    }
}

/// How something that the schedule asked for has ended.
enum KeeperResult: Sendable {
    case refresh(SeenSession.Key, RefreshOutcome)
    case probe(realm: String, isReachable: Bool)
    /// Nil: it failed.
    case signOut(principal: String, ended: Set<SeenSession.Key>?)
}
