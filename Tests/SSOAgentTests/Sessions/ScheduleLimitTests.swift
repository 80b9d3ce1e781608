import Foundation
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import Testing

private typealias Drill = ScheduleDrill

/// When the profile's limits end a session; the schedule begins at 08:00.
@Suite struct ScheduleLimitTests {
    private let end = SessionSchedule.Action.signOut(principal: "alice@A.TEST", includingOthers: true)

    struct Limit: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let limits: SessionLimits
        var session = Drill.session(to: 360_000)
        /// The second at which the session ends, or nil for never.
        let end: Double?
        /// The second at which the warning is sent, or nil for none.
        let warning: Double?

        init(_ text: String, _ limits: SessionLimits, _ session: SessionSnapshot? = nil, warning: Double?, end: Double?) {
            (testDescription, self.limits, self.end, self.warning) = (text, limits, end, warning)
            if let session { self.session = session }
        }
    }

    private static let evening = SessionLimits(signOutAt: .init("18:00"))

    @Test(arguments: [
        Limit("no limit", .init(), warning: nil, end: nil),
        Limit("a lifetime", .init(maximumLifetime: .seconds(3600)), warning: 3300, end: 3600),
        Limit(
            "a lifetime counts from the sign-in, not from the renewal",
            .init(maximumLifetime: .seconds(3600)),
            Drill.session(to: 36000, signedIn: -1800),
            warning: 1500,
            end: 1800
        ),
        Limit("a lifetime that is over already", .init(maximumLifetime: .seconds(60)), Drill.session(from: -3600), warning: nil, end: 0),
        Limit("a time of day", evening, warning: 35700, end: 36000),
        Limit("a time of day that has passed since the sign-in", evening, Drill.session(from: -54000, to: 36000), warning: nil, end: 0),
        Limit("a time of day before the sign-in is tomorrow's", .init(signOutAt: .init("07:30")), warning: 84300, end: 84600),
        Limit("idle", .init(idleSignOutAfter: .seconds(900)), warning: 600, end: 900),
        Limit(
            "the first of several counts",
            .init(maximumLifetime: .seconds(7200), signOutAt: .init("09:00"), idleSignOutAfter: .seconds(5400)),
            warning: 3300,
            end: 3600
        ),
        Limit("exempt by name", .init(maximumLifetime: .seconds(3600), exemptPrincipals: ["bob", "alice"]), warning: nil, end: nil),
        Limit("exempt in full", .init(maximumLifetime: .seconds(3600), exemptPrincipals: ["alice@A.TEST"]), warning: nil, end: nil),
        Limit(
            "another realm's alice",
            .init(maximumLifetime: .seconds(3600), exemptPrincipals: ["alice@B.TEST"]),
            warning: 3300,
            end: 3600
        ),
    ])
    func `a session ends at the first of its profile's limits, after a warning`(_ limit: Limit) {
        var drill = Drill(limit.limits)
        drill.observe(limit.session)
        let times = drill.run(for: 100_000) { drill, action in
            #expect(action == end)
            let ended = drill.now
            drill.schedule.signOutFinished("alice@A.TEST", ended: [limit.session.key], at: ended)
            drill.observe()
        }
        #expect(times == (limit.end.map { [$0] } ?? []))
        let warnings = zip(drill.events, drill.eventTimes).filter { $0.0.kind == .sessionEnding }
        #expect(warnings.map(\.1) == (limit.warning.map { [$0] } ?? []))
        #expect(warnings.map(\.0.date) == (limit.warning == nil ? [] : [Drill.start + (limit.end ?? 0)]))
        #expect(drill.events.count { $0.kind == .signedOut } == (limit.end == nil ? 0 : 1))
    }

    @Test func `the warning is sent once, five minutes before the session ends`() {
        var drill = Drill(.init(maximumLifetime: .seconds(3600)))
        drill.observe(Drill.session())
        drill.pass(3299)
        _ = drill.actions()
        #expect(drill.kinds == [])
        #expect(drill.schedule.wait(at: drill.now) == 1)
        drill.pass(1)
        for _ in 0..<3 { _ = drill.actions() }
        #expect(drill.kinds == [.sessionEnding])
    }

    @Test func `using a session postpones its idle sign-out, renewing it does not`() {
        var drill = Drill(.init(idleSignOutAfter: .seconds(900)))
        drill.observe(Drill.session())
        drill.pass(700)
        _ = drill.actions()
        drill.schedule.noteUse(of: "alice@A.TEST", at: drill.now)
        drill.pass(700)
        #expect(drill.actions() == [])
        // A ticket for another service counts as a use.
        drill.observe(Drill.session(services: ["HTTP/www.example.test@A.TEST"]))
        drill.pass(700)
        #expect(drill.actions() == [])
        // A renewal does not count.
        drill.observe(Drill.session(from: 2000, to: 40000, signedIn: 0, services: ["HTTP/www.example.test@A.TEST"]))
        drill.pass(200)
        #expect(drill.actions() == [end])
        #expect(drill.kinds.count { $0 == .sessionEnding } == 3)
    }

    @Test func `setting the wall clock back does not extend a session's lifetime`() {
        var drill = Drill(.init(maximumLifetime: .seconds(3600)))
        drill.observe(Drill.session())
        drill.now.wall -= 86_400
        #expect(drill.run(for: 7200).first == 3600)
    }

    @Test func `a failed sign-out is tried again every minute`() {
        var drill = Drill(.init(maximumLifetime: .seconds(3600)))
        drill.observe(Drill.session())
        let times = drill.run(for: 3750) { drill, _ in
            drill.schedule.signOutFinished("alice@A.TEST", ended: [], at: drill.now)
        }
        #expect(times == [3600, 3660, 3720])
    }

    @Test func `a session that has reached its limit is signed out, not renewed`() {
        var drill = Drill(.init(maximumLifetime: .seconds(200)))
        drill.observe(Drill.session(to: 300, renewUntil: 3600))
        drill.pass(200)
        #expect(drill.actions() == [end])
    }

    @Test func `a failed sign-out for a removed payload is tried again, unless the payload is back`() {
        let end = SessionSchedule.Action.signOut(principal: "alice@A.TEST", includingOthers: false)
        for isBack in [false, true] {
            var drill = Drill()
            drill.observe(Drill.session())
            drill.schedule.configure([], at: drill.now)
            #expect(drill.actions() == [end])
            drill.schedule.signOutFinished("alice@A.TEST", ended: nil, at: drill.now)
            #expect(drill.actions() == [])
            if isBack { drill.schedule.configure([ExtensionConfiguration(realm: "A.TEST")], at: drill.now) }
            drill.pass(61)
            #expect(drill.actions() == (isBack ? [] : [end]))
            drill.schedule.signOutFinished("alice@A.TEST", ended: [], at: drill.now)
            drill.pass(61)
            #expect(drill.actions() == [], "the remaining session belongs to another program")
        }
    }

    @Test func `removing a payload signs out its sessions, but not those of other programs`() {
        var drill = Drill()
        drill.observe(Drill.session(to: 300, renewUntil: 3600))
        drill.schedule.configure([ExtensionConfiguration(realm: "B.TEST")], at: drill.now)
        #expect(drill.actions() == [.signOut(principal: "alice@A.TEST", includingOthers: false)])
        // The session belongs to another program and is renewed as before.
        drill.schedule.signOutFinished("alice@A.TEST", ended: [], at: drill.now)
        drill.schedule.configure([], at: drill.now)
        drill.pass(250)
        #expect(drill.actions() == [.refresh(Drill.session().key)])
    }
}
