import Foundation
import HTTPNegotiate
import SSOAgent
import SSOAgentClient
import Testing

private typealias Drill = ScheduleDrill

/// Sessions that end because of what the user does at the machine.
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
    func `the profile says what ends a session`(_ limits: SessionLimits, _ change: LoginChange, _ ends: Bool) {
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

    @Test func `who is exempt stays when another one goes`() {
        var drill = Drill(.init(signOutOnLock: true, exemptPrincipals: ["bob"]))
        drill.observe(Drill.session(), Drill.session("bob", cache: "FILE:two"))
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
        drill.schedule.signOutFinished("alice@A.TEST", ended: [Drill.session().key], at: drill.now)
        drill.observe(Drill.session("bob", cache: "FILE:two"))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `whoever signs in behind a locked screen stays`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.schedule.note(.locked, at: drill.now)
        drill.pass(10)
        drill.observe(Drill.session(from: 10))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `a new sign-in in the same cache is another session`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
        drill.schedule.signOutFinished("alice@A.TEST", ended: [Drill.session().key], at: drill.now)
        drill.pass(5)
        drill.observe(Drill.session(from: 5))
        #expect(drill.run(for: 3600) == [])
    }

    @Test func `a renewed ticket is the session that was locked`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session(to: 300, renewUntil: 3600))
        drill.schedule.note(.locked, at: drill.now)
        drill.observe(Drill.session(from: 1, to: 301, renewUntil: 3600, signedIn: 0))
        #expect(drill.actions() == [end])
    }

    @Test func `a sign-out that failed is tried again after a minute, or at the next lock`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        let times = drill.run(for: 70) { drill, _ in drill.schedule.signOutFinished("alice@A.TEST", ended: [], at: drill.now) }
        #expect(times == [0, 60])
        drill.schedule.note(.locked, at: drill.now)
        #expect(drill.actions() == [end])
    }

    @Test func `a clock that is put back prolongs nothing`() {
        var drill = Drill(.init(signOutOnLock: true))
        drill.observe(Drill.session())
        drill.schedule.note(.locked, at: drill.now)
        drill.now.wall -= 86_400
        #expect(drill.actions() == [end])
    }
}
