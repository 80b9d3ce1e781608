import Foundation
import KerberosEngine
import SignOnPolicy
import TestSupport

@testable import SSOAgent

/// The agent's schedule between a keeper, caches and a KDC that a seed controls: what happens, in which order, and when each attempt ends.
///
/// The model performs the schedule's actions as ``SessionKeeper`` does, with results that the engine could return. ``violations`` lists the
/// rules that a history broke.
struct ScheduleModel {
    /// A rule that was broken, and what had happened before.
    private(set) var violations: [String] = []

    private var generator: SeededGenerator
    private var schedule: SessionSchedule
    private var now = Moment(wall: Date(timeIntervalSince1970: 1_800_000_000), uptime: 5000)
    private var caches: [SessionSnapshot.Key: SessionSnapshot] = [:]
    /// The actions that have begun and not ended, with the ticket that each was to replace.
    private var running: [(action: SessionSchedule.Action, ticket: SessionSnapshot.Ticket?)] = []
    private var kdcAnswers = true
    private var kdcAcceptsKeys = true
    private var hasProfile = true
    /// Whether caches can be read and removed.
    private var cachesWork = true
    private var lastRefusals: [SessionSnapshot.Key: Double] = [:]
    private var tickets = 0
    private var history: [String] = []

    private static let lifetime = 36_000.0

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        schedule = Self.schedule(hasProfile: true)
    }

    private static func schedule(hasProfile: Bool) -> SessionSchedule {
        SessionSchedule(hasProfile ? [configuration] : [], backoff: Backoff(jitter: { 1 }))
    }

    private static var configuration: ExtensionConfiguration {
        var configuration = ExtensionConfiguration(realm: "A.TEST")
        configuration.sessionLimits = SessionLimits(signOutOnLock: true)
        return configuration
    }

    /// Lets a number of random things happen.
    mutating func run(steps: Int) {
        for _ in 0..<steps {
            step()
            look()
        }
    }

    private mutating func step() {
        switch Int.random(in: 0..<25, using: &generator) {
        case 0..<5: pass(schedule.wait(at: now))
        case 5..<8: pass([0.1, 1, 30, 400, 30_000, 80_000].randomElement(using: &generator) ?? 1)
        case 8..<14: finishAny()
        case 14..<17: signIn()
        case 17: destroy()
        case 18:
            kdcAnswers.toggle()
            note("the KDC \(kdcAnswers ? "answers" : "is silent")")
        case 19:
            kdcAcceptsKeys.toggle()
            note("the KDC \(kdcAcceptsKeys ? "accepts" : "refuses") keys")
        case 20:
            schedule.networkChanged(at: now)
            note("the network changes")
        case 21:
            now.wall += [-90_000, -3600, 3600, 90_000].randomElement(using: &generator) ?? 0
            note("the clock is set")
        case 22: killAgent()
        case 23:
            cachesWork.toggle()
            note("the caches \(cachesWork ? "can" : "cannot") be read")
        default:
            if Bool.random(using: &generator) {
                schedule.note(.locked, at: now)
                note("the screen is locked")
            } else {
                hasProfile.toggle()
                schedule.configure(hasProfile ? [Self.configuration] : [], at: now)
                note("the profile \(hasProfile ? "is installed" : "is removed")")
            }
        }
    }
}

extension ScheduleModel {
    /// Looks at the caches and begins what is due, as a keeper does when it wakes up.
    private mutating func look() {
        if cachesWork { schedule.observe(Array(caches.values), at: now) }
        for action in schedule.actions(at: now) { begin(action) }
        let wait = schedule.wait(at: now)
        check(wait > 0 && wait <= SessionSchedule.longestWait, "the next look is after \(wait) s")
    }

    private mutating func begin(_ action: SessionSchedule.Action) {
        switch action {
        case .send, .report, .readAccount: return
        case .abandon(let key):
            note("abandon \(key.principal)")
            // A canceled call ends with the next results.
            guard let index = running.firstIndex(where: { $0.action == .refresh(key) }) else { return }
            running.remove(at: index)
            return schedule.refreshFinished(key, .abandoned, at: now)
        case .refresh(let key):
            let isEnding = running.contains { if case .signOut(key.principal, _) = $0.action { true } else { false } }
            check(!isEnding, "\(key.principal) is renewed during its sign-out")
            if let last = lastRefusals[key] {
                check(now.uptime - last >= SessionSchedule.refusalPause, "a refused key is sent again after \(now.uptime - last) s")
            }
        case .probe, .signOut: break
        }
        check(!running.contains { $0.action.work == action.work }, "\(action) begins twice")
        note("begin \(action)")
        let ticket: SessionSnapshot.Ticket? = if case .refresh(let key) = action { schedule.entries[key]?.session.ticket } else { nil }
        running.append((action, ticket))
    }

    private mutating func finishAny() {
        guard let index = running.indices.randomElement(using: &generator) else { return }
        finish(running.remove(at: index))
    }

    private mutating func finish(_ attempt: (action: SessionSchedule.Action, ticket: SessionSnapshot.Ticket?)) {
        switch attempt.action {
        case .refresh(let key):
            let outcome = refresh(key, replacing: attempt.ticket)
            note("\(key.principal): \(outcome)")
            schedule.refreshFinished(key, outcome, at: now)
        case .probe(let realm, _): schedule.probeFinished(realm: realm, isReachable: kdcAnswers, at: now)
        case .signOut(let principal, _):
            guard cachesWork else {
                note("\(principal) cannot be signed out")
                return schedule.signOutFinished(principal, ended: nil, at: now)
            }
            let ended = caches.keys.filter { $0.principal == principal }
            for key in ended { remove(key) }
            note("\(principal) is signed out")
            schedule.signOutFinished(principal, ended: Set(ended), at: now)
        case .abandon, .send, .report, .readAccount: break
        }
    }

    /// What the engine would return now, after which the cache has the new ticket.
    private mutating func refresh(_ key: SessionSnapshot.Key, replacing due: SessionSnapshot.Ticket?) -> RefreshOutcome {
        guard cachesWork else { return .failed }
        guard var session = caches[key] else { return .gone }
        guard session.ticket == due else { return .refreshed }
        guard kdcAnswers else { return .unreachable }
        switch session.reacquisition {
        case .none:
            guard let limit = session.ticket.renewUntil, session.ticket.expires > now.wall, limit > now.wall else { return .refused }
            session.ticket = ticket(renewUntil: limit)
            session.ticket.expires = min(session.ticket.expires, limit)
        case .key, .certificate:
            guard kdcAcceptsKeys else {
                lastRefusals[key] = now.uptime
                return .refused
            }
            session.ticket = ticket(renewUntil: nil)
        }
        caches[key] = session
        return .refreshed
    }

    private mutating func ticket(renewUntil: Date?) -> SessionSnapshot.Ticket {
        tickets += 1
        let expires = now.wall + Self.lifetime
        return .init(authenticated: now.wall, starts: now.wall, expires: expires, renewUntil: renewUntil, fingerprint: tickets)
    }

    private mutating func signIn() {
        let name = ["alice", "bob"].randomElement(using: &generator) ?? ""
        let cache = ["KCM:1", "KCM:2"].randomElement(using: &generator) ?? ""
        let key = SessionSnapshot.Key(principal: "\(name)@A.TEST", cache: "\(cache):\(name)")
        let kind = [Session.Reacquisition.none, .key, .key, .certificate].randomElement(using: &generator) ?? .none
        lastRefusals[key] = nil
        let ticket = ticket(renewUntil: kind == .none ? now.wall + 7 * Self.lifetime : nil)
        caches[key] = SessionSnapshot(key: key, realm: "A.TEST", ticket: ticket, reacquisition: kind, signedInAt: now.wall)
        note("\(name) signs in to \(cache) (\(kind))")
    }

    private mutating func destroy() {
        guard let key = caches.keys.sorted(by: { $0.cache < $1.cache }).randomElement(using: &generator) else { return }
        remove(key)
        note("\(key.cache) is destroyed")
    }

    private mutating func remove(_ key: SessionSnapshot.Key) {
        caches[key] = nil
        lastRefusals[key] = nil
    }

    /// Attempts end with the agent. What it knew is lost; the caches are not.
    private mutating func killAgent() {
        running = []
        lastRefusals = [:]
        schedule = Self.schedule(hasProfile: hasProfile)
        note("the agent is killed")
    }

    private mutating func pass(_ seconds: Double) {
        now.wall += seconds
        now.uptime += seconds
        note("\(seconds) s pass")
    }

    private mutating func note(_ event: String) { history.append(event) }

    private mutating func check(_ isTrue: Bool, _ fault: String) {
        guard !isTrue, violations.isEmpty else { return }
        violations.append("\(fault), after: \(history.suffix(40).joined(separator: "; "))")
    }
}

extension ScheduleModel {
    /// Ends all faults, and lets the keeper work for some hours. Every attempt must end then, and each session that a key can reacquire
    /// must have a valid ticket.
    mutating func recover() {
        (kdcAnswers, kdcAcceptsKeys, cachesWork) = (true, true, true)
        note("all faults end")
        let end = now.uptime + 3 * 3600
        var looks = 0
        while now.uptime < end {
            looks += 1
            look()
            let attempts = running
            running = []
            for attempt in attempts { finish(attempt) }
            pass(attempts.isEmpty ? schedule.wait(at: now) : 0)
            guard looks < 5000 else { return check(false, "the keeper looks again and again") }
        }
        for (key, session) in caches where session.reacquisition == .key && session.ticket.expires <= now.wall {
            check(false, "\(key.cache) still has an expired ticket")
        }
        for (key, entry) in schedule.entries { check(caches[key] == entry.session, "the session in \(key.cache) is not known") }
        check(schedule.entries.count == caches.count, "\(schedule.entries.count) sessions are known, and \(caches.count) exist")
    }
}

extension SessionSchedule.Action {
    /// What the action works on. Two actions never work on the same thing at the same time.
    fileprivate var work: String {
        switch self {
        case .refresh(let key), .abandon(let key): "the ticket in \(key.cache)"
        case .readAccount(let key): "the account of \(key.principal) in \(key.cache)"
        case .probe(let realm, _): "the KDCs of \(realm)"
        case .signOut(let principal, _): "the session of \(principal)"
        case .send(let event): "the event \(event)"
        case .report(let event): "the report \(event)"
        }
    }
}
