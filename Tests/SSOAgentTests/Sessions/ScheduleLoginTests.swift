import Foundation
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import Testing

private typealias Drill = ScheduleDrill

/// How a locked screen or the end of a login session signs out sessions.
@Suite struct ScheduleLoginTests {
    private let end = SessionSchedule.Action.signOut(principal: "alice@A.TEST", includingOthers: true)

    @Test(
        arguments: [
            (.init(), .locked, false), (.init(), .sessionEnded, false),
            (.init(signOutOnLock: true), .locked, true), (.init(signOutOnLock: true), .sessionEnded, false),
            (.init(signOutOnSessionEnd: true), .locked, false), (.init(signOutOnSessionEnd: true), .sessionEnded, true),
            (.init(signOutOnLock: true, exemptPrincipals: ["alice"]), .locked, false),
            (.init(signOutOnLock: true, exemptPrincipals: ["bob"]), .locked, true),
            (.init(signOutOnSessionEnd: true, exemptPrincipals: ["alice@A.TEST"]), .sessionEnded, false),
        ] as [(SessionLimits, LoginChange, Bool)]
    )
    func `the profile decides if a lock or a login session's end signs out`(_ limits: SessionLimits, _ change: LoginChange, _ ends: Bool) {
        var drill = Drill(limits)
        drill.observe(Drill.session())
        #expect(drill.actions() == [])
        drill.schedule.note(change, at: drill.now)
        #expect(drill.actions() == (ends ? [end] : []))
        #expect(drill.kinds == (ends ? [.sessionEnding] : []))
        #expect(drill.actions() == [])
        drill.schedule.signOutFinished("alice@A.TEST", ended: [Drill.session().key], at: drill.now)
        if ends { drill.observe() }
        _ = drill.actions()
        #expect(drill.kinds == (ends ? [.sessionEnding, .signedOut] : []))
    }

    @Test func `an exempt principal stays signed in when another one is signed out`() {
        var drill = Drill(.init(signOutOnLock: true, exemptPrincipals: ["bob"]))
        drill.observe(Drill.session(), Drill.session("bob", cache: "FILE:two"))
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
        drill.schedule.signOutFinished("alice@A.TEST", ended: [Drill.session().key], at: drill.now)
        drill.observe(Drill.session("bob", cache: "FILE:two"))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `a session that begins while the screen is locked is not signed out`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.schedule.note(.locked, at: drill.now)
        drill.pass(10)
        drill.observe(Drill.session(from: 10))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `a new sign-in in the same cache is not signed out because of an earlier lock`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
        drill.schedule.signOutFinished("alice@A.TEST", ended: [Drill.session().key], at: drill.now)
        drill.pass(5)
        drill.observe(Drill.session(from: 5))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `a session that is renewed after a lock is still signed out`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session(to: 300, renewUntil: 3600))
        drill.schedule.note(.locked, at: drill.now)
        drill.observe(Drill.session(from: 1, to: 301, renewUntil: 3600, signedIn: 0))
        #expect(drill.actions() == [end])
    }

    @Test func `a failed sign-out is tried again after a minute or at the next lock`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        let times = drill.run(for: 70) { drill, _ in drill.schedule.signOutFinished("alice@A.TEST", ended: [], at: drill.now) }
        #expect(times == [0, 60])
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
    }

    @Test func `setting the wall clock back does not prevent the sign-out after a lock`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        drill.now.wall -= 86_400
        #expect(drill.actions() == [end])
    }
}
