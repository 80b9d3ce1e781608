internal import ActiveDirectory
internal import Kerberos
internal import KerberosEngine
package import SignOnPolicy
internal import Synchronization

/// Keeps the sessions alive, and ends them when the profiles require it: carries out the actions of a ``SessionSchedule``, and sends its
/// events to the ``SessionReports``.
///
/// Isolation: input comes through the inbox from any thread; the schedule belongs to the actor.
package actor SessionKeeper {
    private let current: CurrentExtension
    nonisolated let reports: SessionReports
    private let clock: any WakeClock
    nonisolated let inbox = KeeperInbox()
    private var schedule: SessionSchedule
    private var looks = LookPacing()
    private var tasks: [Work: Task<Void, Never>] = [:]

    /// The number of tickets from which a look frees enough memory to be worth returning to the system.
    private static let manyTickets = 1000

    private enum Work: Hashable {
        case refresh(SessionSnapshot.Key)
        case probe(String)
        case readAccount(SessionSnapshot.Key)
        case signOut(String)
        /// Waits until the next turn.
        case timer
    }

    /// - Parameters:
    ///   - current: Provides the extension whose sessions are kept alive.
    ///   - reports: Receives what happens to the sessions.
    ///   - clock: The source of the time.
    ///   - schedule: Decides about the sessions; by default one for the extension's profiles.
    init(
        _ current: CurrentExtension,
        _ reports: SessionReports,
        clock: any WakeClock = SystemClock(),
        schedule: SessionSchedule? = nil
    ) {
        self.current = current
        self.reports = reports
        self.clock = clock
        var schedule = schedule ?? SessionSchedule(current.value.policy.configurations, readsAccounts: true)
        schedule.began = clock.now.wall
        self.schedule = schedule
    }

    /// Reports that the sessions may have changed. It is cheap to call often.
    package nonisolated func poke() { inbox.wantLook() }

    /// Records a use of a principal's tickets, or of all tickets for nil. A use delays the end of an idle session.
    package nonisolated func noteUse(of principal: String?) { inbox.noteUse(of: principal, at: clock.now) }

    /// Records that the user has locked the screen or logged out.
    package nonisolated func note(_ change: LoginChange) { inbox.put { $0.logins.insert(change) } }

    /// Records that the machine's network may have changed.
    nonisolated func networkChanged() { inbox.put { $0.hasNetworkChanged = true } }

    /// Records that other profiles are active and the extension has been replaced.
    package nonisolated func configure(_ configurations: [ExtensionConfiguration]) {
        inbox.put {
            $0.configurations = configurations
            $0.isPoked = true
        }
    }

    /// Runs until the task is canceled. This also cancels the tasks in progress and waits for them to end. Call it once.
    package func run() async {
        poke()
        for await _ in inbox.rings { await turn() }
        for task in tasks.values { task.cancel() }
        for task in tasks.values { await task.value }
    }

    private func turn() async {
        let contents = inbox.take()
        // The look finds recent sessions, so that they end with their profile as well.
        if contents.configurations != nil { await look() }
        take(contents)
        // The look finds recent sign-ins, so that they are signed out as well.
        if !contents.logins.isEmpty { looks.want(at: clock.now.uptime) }
        if looks.areDue(at: clock.now.uptime) { await look() }
        let now = clock.now
        for change in contents.logins { schedule.note(change, at: now) }
        for action in schedule.actions(at: now) { carryOut(action) }
        let wait = min(schedule.wait(at: now), looks.wait(at: now.uptime) ?? .infinity)
        // A shorter wait than the clock's resolution would cause an endless loop.
        setTimer(at: now.uptime + max(wait, 0.01))
    }

    private func take(_ contents: KeeperInbox.Contents) {
        let now = clock.now
        if let configurations = contents.configurations { schedule.configure(configurations, at: now) }
        for (principal, moment) in contents.uses { schedule.noteUse(of: principal, at: moment) }
        for result in contents.results {
            switch result {
            case .refresh(let key, let outcome):
                tasks[.refresh(key)] = nil
                schedule.refreshFinished(key, outcome, at: now)
            case .probe(let realm, let isReachable):
                tasks[.probe(realm)] = nil
                schedule.probeFinished(realm: realm, isReachable: isReachable, at: now)
            case .readAccount(let key, let outcome):
                tasks[.readAccount(key)] = nil
                schedule.accountReadingFinished(key, outcome, at: now)
                // Only a reading that succeeded is recorded in a cache.
                guard outcome == .read else { continue }
            case .signOut(let principal, let ended):
                tasks[.signOut(principal)] = nil
                schedule.signOutFinished(principal, ended: ended, at: now)
            }
            looks.want(at: now.uptime)
        }
        if contents.hasNetworkChanged { schedule.networkChanged(at: now) }
        if contents.isPoked { looks.want() }
    }

    /// Reads the caches. If they cannot be read, the known state stays.
    private func look() async {
        let begun = clock.awake
        inbox.willLook()
        do throws(KerberosError) {
            let seen = try await current.value.sessions().sessions.map(SessionSnapshot.init)
            schedule.observe(seen, at: clock.now)
            // The look has read every ticket.
            if seen.reduce(0, { $0 + $1.services.count }) > Self.manyTickets { ProcessMemory.giveBackFreed() }
        } catch {
            reports.journal.failure("the credential caches cannot be read: \(error)")
        }
        // What the machine slept meanwhile does not count.
        looks.finished(at: clock.now.uptime, after: clock.awake - begun)
    }

    private func setTimer(at uptime: Double) {
        tasks[.timer]?.cancel()
        tasks[.timer] = Task { [inbox, clock] in
            guard (try? await clock.sleep(until: uptime)) != nil else { return }
            inbox.put { $0.isPoked = true }
        }
    }
}

extension SessionKeeper {
    private func carryOut(_ action: SessionSchedule.Action) {
        switch action {
        case .send(let event): reports.events.send(event)
        case .report(let event): reports.program?.note(event)
        case .refresh(let key): refresh(key)
        case .readAccount(let key): readAccount(key)
        case .abandon(let key): tasks[.refresh(key)]?.cancel()
        case .probe(let realm, let principal):
            tasks[.probe(realm)] = Task { [inbox, kerberos = current.value] in
                let isReachable = await kerberos.inspection.reachesKDC(of: realm, askingFor: principal)
                inbox.put { $0.results.append(.probe(realm: realm, isReachable: isReachable)) }
            }
        case .signOut(let principal, let includingOthers): signOut(principal, includingOthers: includingOthers)
        }
    }

    private func refresh(_ key: SessionSnapshot.Key) {
        let due = schedule.entries[key]?.session.ticket
        tasks[.refresh(key)] = Task { [inbox, journal = reports.journal, kerberos = current.value] in
            let outcome: RefreshOutcome
            do throws(KerberosError) {
                // The session is looked up only for this purpose, so that no copy of its keys is kept here.
                let session = try await kerberos.sessions().sessions.first { SessionSnapshot.Key($0) == key }
                // If the session has another ticket than the due one, it has been replaced already.
                if let session, SessionSnapshot(session).ticket == due { try await kerberos.refresh(session) }
                outcome = session == nil ? .gone : .refreshed
            } catch {
                outcome = RefreshOutcome(error)
                journal.failure("the ticket of \(key.principal) was not reacquired: \(error)")
            }
            inbox.put { $0.results.append(.refresh(key, outcome)) }
        }
    }

    private func readAccount(_ key: SessionSnapshot.Key) {
        tasks[.readAccount(key)] = Task { [inbox, journal = reports.journal, kerberos = current.value] in
            var outcome = AccountReadingOutcome.failed
            do throws(DirectoryError) {
                let session = try? await kerberos.sessions().sessions.first { SessionSnapshot.Key($0) == key }
                if let session { outcome = try await kerberos.readAccount(of: session) == nil ? .noDirectory : .read }
            } catch {
                // Programs run without libldap too, so that its absence is no failure.
                if error.code == .libraryMissing {
                    outcome = .noDirectory
                } else {
                    journal.failure("the account of \(key.principal) was not read: \(error)")
                }
            }
            inbox.put { [outcome] in $0.results.append(.readAccount(key, outcome)) }
        }
    }

    private func signOut(_ principal: String, includingOthers: Bool) {
        let reason = schedule.signOutReason(of: principal)
        tasks[.signOut(principal)] = Task { [inbox, journal = reports.journal, kerberos = current.value] in
            var ended: Set<SessionSnapshot.Key>?
            do throws(KerberosError) {
                let result = try await kerberos.signOut(try Principal(principal), includingOthers: includingOthers)
                ended = Set(result.ended.map(SessionSnapshot.Key.init))
                if !result.ended.isEmpty { journal.note("\(principal) was signed out\(reason.map { " \($0.description)" } ?? "").") }
            } catch {
                journal.failure("\(principal) was not signed out: \(error)")
            }
            inbox.put { [ended] in $0.results.append(.signOut(principal: principal, ended: ended)) }
        }
    }
}

/// Where a ``SessionKeeper`` reports what happens to the sessions.
struct SessionReports: Sendable {
    /// Delivers the events to the clients of the API.
    let events: EventHub
    /// Logs each failure, and each sign-out that no person or program asked for.
    let journal: Journal
    /// Runs the administrator's program for the changes of each session; nil if there is none.
    var program: EventRuns?
}

/// Decides when the caches are read next: frequent changes are looked at together, and at most a twentieth of the time is spent looking.
private struct LookPacing {
    private var isWanted = true
    /// The earliest uptime of the next look.
    private var notBefore = -Double.infinity

    /// Requests a look, at this uptime or else as soon as the pace allows.
    mutating func want(at uptime: Double? = nil) {
        isWanted = true
        if let uptime { notBefore = uptime }
    }

    func areDue(at uptime: Double) -> Bool { isWanted && uptime >= notBefore }

    /// The wait until the next look, in seconds; nil if none is wanted.
    func wait(at uptime: Double) -> Double? { isWanted ? notBefore - uptime : nil }

    /// Records a look that took this many seconds.
    mutating func finished(at uptime: Double, after seconds: Double) {
        isWanted = false
        notBefore = uptime + max(1, 20 * seconds)
    }
}

/// Collects a keeper's input until the keeper takes it. Repeated inputs of one kind are combined.
final class KeeperInbox: Sendable {
    struct Contents {
        /// Whether the caches may have changed.
        var isPoked = false
        var hasNetworkChanged = false
        /// The last use of each principal's tickets; the nil key stands for all principals.
        var uses: [String?: Moment] = [:]
        var logins: Set<LoginChange> = []
        var configurations: [ExtensionConfiguration]?
        var results: [KeeperResult] = []
    }

    /// Yields once when input is available, and not again until it is taken.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    /// Nil if there is no input.
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

    /// Records that the caches may have changed. Only the first call between two looks has an effect, because there may be thousands a
    /// second.
    func wantLook() {
        guard !isLookWanted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        put { $0.isPoked = true }
    }

    /// Makes later changes request another look, because the look that starts now may miss them.
    func willLook() { isLookWanted.store(false, ordering: .sequentiallyConsistent) }

    /// Records a use. It does not wake the keeper, because there may be thousands a second, and a use matters only when the keeper has
    /// other work.
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

/// The result of an action of the schedule.
enum KeeperResult: Sendable {
    case refresh(SessionSnapshot.Key, RefreshOutcome)
    case probe(realm: String, isReachable: Bool)
    case readAccount(SessionSnapshot.Key, AccountReadingOutcome)
    /// `ended` is nil if the sign-out failed.
    case signOut(principal: String, ended: Set<SessionSnapshot.Key>?)
}
