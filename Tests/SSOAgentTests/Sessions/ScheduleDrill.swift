import Foundation
import KerberosEngine
import SSOAgent
import SSOAgentClient
import SignOnPolicy

/// A schedule whose clocks a test moves; times are seconds since its start.
struct ScheduleDrill {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)  // 2027-01-15 08:00 UTC
    var schedule: SessionSchedule
    var now = Moment(wall: start, uptime: 5000)
    private(set) var events: [AgentEvent] = []
    /// The second at which each event was sent.
    private(set) var eventTimes: [Double] = []
    private var sessionEvents: [SessionEvent] = []

    init(
        _ limits: SessionLimits = .init(),
        renewalFraction: Double? = nil,
        monitorsCredentials: Bool = true,
        readsAccounts: Bool = false,
        jitter: Double = 1
    ) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        var configuration = ExtensionConfiguration(realm: "A.TEST", renewalFraction: renewalFraction)
        configuration.sessionLimits = limits
        configuration.monitorsCredentials = monitorsCredentials
        schedule = SessionSchedule(
            [configuration],
            readsAccounts: readsAccounts,
            backoff: Backoff(jitter: { jitter }),
            calendar: calendar
        )
    }

    /// A session whose ticket is valid from one second to another.
    static func session(
        _ name: String = "alice",
        from: Double = 0,
        to: Double = 36000,
        renewUntil: Double? = nil,
        keytab: Bool = false,
        reacquisition: Session.Reacquisition = .none,
        signedIn: Double? = nil,
        cache: String = "FILE:one",
        services: [String] = []
    ) -> SessionSnapshot {
        SessionSnapshot(
            key: .init(principal: "\(name)@A.TEST", cache: cache),
            realm: "A.TEST",
            ticket: .init(
                authenticated: start + (signedIn ?? from),
                starts: start + from,
                expires: start + to,
                renewUntil: renewUntil.map { start + $0 }
            ),
            reacquisition: keytab ? .key : reacquisition,
            signedInAt: start + (signedIn ?? from),
            services: services
        )
    }

    /// Moves both clocks forward.
    mutating func pass(_ seconds: Double) {
        now.wall += seconds
        now.uptime += seconds
    }

    mutating func observe(_ sessions: SessionSnapshot...) { schedule.observe(sessions, at: now) }

    /// Returns the actions that are due now, without the events, which are recorded.
    mutating func actions() -> [SessionSchedule.Action] {
        schedule.actions(at: now).filter { action in
            switch action {
            case .send(let event):
                events.append(event)
                eventTimes.append(now.uptime - 5000)
            case .report(let event): sessionEvents.append(event)
            default: return true
            }
            return false
        }
    }

    /// Returns and removes the changes of the sessions' tickets that were reported up to now.
    mutating func takeSessionEvents() -> [SessionEvent] {
        defer { sessionEvents = [] }
        return sessionEvents
    }

    /// Moves the clocks as a keeper would, from wait to wait, and returns the seconds at which actions were due.
    ///
    /// - Parameter act: Called for each action, to carry it out.
    mutating func run(
        for seconds: Double,
        _ act: (inout ScheduleDrill, SessionSchedule.Action) -> Void = { _, _ in }
    ) -> [Double] {
        let begin = now.uptime
        var times: [Double] = []
        var turns = 0
        while now.uptime - begin <= seconds, turns < 10_000 {
            turns += 1
            let actions = actions()
            for action in actions { act(&self, action) }
            times += actions.map { _ in now.uptime - begin }
            // The next action may be due at once.
            pass(actions.isEmpty ? schedule.wait(at: now) : 0)
        }
        return times
    }

    var kinds: [AgentEvent.Kind] { events.map(\.kind) }
}
