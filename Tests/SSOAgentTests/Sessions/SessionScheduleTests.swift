import Foundation
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import Testing

private typealias Drill = ScheduleDrill

/// When tickets are renewed or reacquired, and which events are sent.
@Suite struct SessionScheduleTests {
    private let key = Drill.session().key

    struct Due: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let session: SessionSnapshot
        /// The second of the first attempt, or nil for never.
        let second: Double?

        init(_ text: String, _ session: SessionSnapshot, at second: Double?) {
            (testDescription, self.session, self.second) = (text, session, second)
        }
    }

    @Test(arguments: [
        Due("two thirds of ten hours", Drill.session(renewUntil: 604_800), at: 24000),
        Due("two thirds of five minutes", Drill.session(to: 300, renewUntil: 3600), at: 200),
        Due("a ticket in the middle of its life", Drill.session(from: -18000, to: 18000, renewUntil: 604_800), at: 6000),
        Due("a ticket that is due already", Drill.session(from: -30000, to: 6000, renewUntil: 604_800), at: 0),
        Due("not renewable", Drill.session(), at: nil),
        Due("renewing would not extend it", Drill.session(renewUntil: 36000), at: nil),
        Due("expired", Drill.session(from: -36000, to: -1, renewUntil: 604_800), at: nil),
        Due("expired, with a keytab", Drill.session(from: -36000, to: -1, keytab: true), at: 0),
        Due("not renewable, with a keytab", Drill.session(keytab: true), at: 24000),
    ])
    func `a ticket is renewed or reacquired after two thirds of its lifetime`(_ due: Due) {
        var drill = Drill()
        drill.observe(due.session)
        let times = drill.run(for: 40000)
        #expect(times == (due.second.map { [$0] } ?? []))
    }

    @Test(arguments: [(0.1, 3600), (0.5, 18000), (0.75, 27000), (0.95, 34200)], [false, true])
    func `the renewal fraction sets when a ticket is renewed or reacquired`(_ fraction: (part: Double, second: Double), hasKeytab: Bool) {
        var drill = Drill(renewalFraction: fraction.part)
        drill.observe(Drill.session(renewUntil: hasKeytab ? nil : 604_800, keytab: hasKeytab))
        #expect(drill.run(for: 40000) == [fraction.second])
    }

    @Test func `a new renewal fraction applies to existing tickets at once`() {
        var drill = Drill(renewalFraction: 0.9)
        drill.observe(Drill.session(renewUntil: 604_800))
        drill.pass(20000)
        #expect(drill.actions() == [])
        drill.schedule.configure([ExtensionConfiguration(realm: "A.TEST", renewalFraction: 0.5)], at: drill.now)
        #expect(drill.actions() == [.refresh(key)])
    }

    @Test func `one attempt is made at a time, and the next one for the next ticket`() {
        var drill = Drill()
        drill.observe(Drill.session(to: 300, renewUntil: 3600))
        drill.pass(200)
        #expect(drill.actions() == [.refresh(key)])
        drill.pass(50)
        #expect(drill.actions() == [])
        drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
        drill.observe(Drill.session(from: 250, to: 550, renewUntil: 3600, signedIn: 0))
        #expect(drill.run(for: 250) == [200])
        #expect(drill.kinds == [.networkAvailable, .gotNewCredential])
    }

    @Test func `a new ticket with the times of the old one is reported once`() {
        var drill = Drill()
        drill.observe(Drill.session(keytab: true))
        drill.pass(30000)
        #expect(drill.actions() == [.refresh(key)])
        drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
        for _ in 0..<3 { drill.observe(Drill.session(keytab: true)) }
        _ = drill.actions()
        #expect(drill.kinds.count { $0 == .gotNewCredential } == 1)
    }

    @Test(
        arguments: [
            (RefreshOutcome.unreachable, 1.0, [0, 10, 30, 70, 150, 310, 610, 910]),
            (.unreachable, 0, [0, 5, 15, 35, 75, 155, 305, 455, 605, 755, 905]),
            (.failed, 1, [0, 10, 30, 70, 150, 310, 610, 910]),
            (.refused, 1, [0, 300, 600, 900]),
        ] as [(RefreshOutcome, Double, [Double])]
    )
    func `the delay grows after failures, and is five minutes after a key was refused`(
        _ outcome: RefreshOutcome,
        _ jitter: Double,
        _ times: [Double]
    ) {
        var drill = Drill(jitter: jitter)
        drill.observe(Drill.session(keytab: true))
        drill.pass(24000)
        let seen = drill.run(for: 1000) { drill, action in
            guard case .refresh(let key) = action else { return }
            drill.schedule.refreshFinished(key, outcome, at: drill.now)
        }
        #expect(seen == times)
        #expect(drill.kinds == (outcome == .unreachable ? [.networkNotAvailable] : []))
    }

    @Test func `a new ticket that is seen before the attempt has finished is reported once`() {
        var drill = Drill()
        drill.observe(Drill.session(keytab: true))
        drill.pass(30000)
        #expect(drill.actions() == [.refresh(key)])
        let renewed = Drill.session(from: 30000, to: 66000, keytab: true)
        drill.observe(renewed)
        drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
        drill.observe(renewed)
        _ = drill.actions()
        #expect(drill.kinds.count { $0 == .gotNewCredential } == 1)
    }

    @Test func `a new sign-in resumes the renewals that stopped after a refusal`() {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800))
        drill.pass(24000)
        #expect(drill.actions() == [.refresh(key)])
        drill.schedule.refreshFinished(key, .refused, at: drill.now)
        #expect(drill.run(for: 3600) == [])
        drill.observe(Drill.session(from: 27000, to: 63000, renewUntil: 604_800))
        #expect(drill.run(for: 40000).count == 1)
    }

    @Test func `tickets from before the start are not reported as new, and each expiry is reported once`() {
        var drill = Drill()
        drill.observe(Drill.session(), Drill.session("old", from: -100, to: -1, cache: "FILE:old"))
        #expect(drill.run(for: 100) == [])
        #expect(drill.kinds == [])
        drill.observe(Drill.session(), Drill.session("bob", cache: "FILE:two"))
        _ = drill.run(for: 40000)
        #expect(drill.events.map(\.principal) == ["bob@A.TEST", "alice@A.TEST", "bob@A.TEST"])
        #expect(drill.kinds == [.gotNewCredential, .credentialExpired, .credentialExpired])
    }

    @Test func `a cache that is empty only for a moment is not reported as signed out`() {
        var drill = Drill()
        drill.observe(Drill.session())
        drill.observe()
        #expect(drill.actions() == [] && drill.schedule.wait(at: drill.now) == 1)
        drill.pass(0.5)
        drill.observe(Drill.session())
        drill.pass(2)
        _ = drill.actions()
        #expect(drill.kinds == [])
        drill.observe()
        drill.pass(1)
        drill.observe()
        _ = drill.actions()
        #expect(drill.kinds == [.signedOut])
        drill.observe()
        _ = drill.actions()
        #expect(drill.kinds == [.signedOut])
    }

    @Test func `a principal that has another cache is not reported as signed out`() {
        var drill = Drill()
        drill.observe(Drill.session(), Drill.session(cache: "FILE:two"))
        for _ in 0..<2 {
            drill.observe(Drill.session())
            drill.pass(2)
        }
        _ = drill.actions()
        #expect(drill.kinds == [])
    }
}

/// How the schedule handles wall clocks that are set and machines that sleep.
@Suite struct ScheduleClockTests {
    private let key = Drill.session().key

    @Test(arguments: [-86_400.0, -3600, -60])
    func `setting the wall clock back does not delay a renewal`(_ jump: Double) {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800))
        drill.pass(3600)
        drill.now.wall += jump
        #expect(drill.run(for: 30000) == [20400])
    }

    @Test func `after the wall clock is set forward, a due ticket is renewed at the next look`() {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800))
        drill.now.wall += 25000
        #expect(drill.actions() == [.refresh(key)])
    }

    @Test(arguments: [86_400.0, 25000, -86_400])
    func `a wrong clock causes at most one attempt a minute`(_ jump: Double) {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800, keytab: true))
        drill.pass(25000)
        drill.now.wall += jump
        // The KDC's clock is right.
        let times = drill.run(for: 3600) { drill, action in
            guard case .refresh(let key) = action else { return }
            drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
            let seconds = drill.now.uptime - 5000
            drill.observe(Drill.session(from: seconds, to: seconds + 36000, renewUntil: 604_800, keytab: true, signedIn: 0))
        }
        #expect(!times.isEmpty && times.count <= 61)
        #expect(drill.kinds.count { $0 == .credentialExpired } <= 1)
    }

    @Test(arguments: [(30000.0, 1, 0), (90000, 0, 1)])
    func `after a sleep, a due renewal is made once and an expiry is reported once`(_ sleep: Double, _ refreshes: Int, _ expiries: Int) {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800))
        drill.pass(sleep)
        let times = drill.run(for: 10) { drill, action in
            guard case .refresh(let key) = action else { return }
            drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
            drill.observe(Drill.session(from: sleep, to: sleep + 36000, renewUntil: 604_800, signedIn: 0))
        }
        #expect(times.count == refreshes)
        #expect(drill.kinds.count { $0 == .credentialExpired } == expiries)
    }

    @Test func `an expiry that was reported because of a wrong clock is reported again when it occurs`() {
        var drill = Drill()
        drill.observe(Drill.session())
        for jump in [40000.0, -40000] {
            drill.now.wall += jump
            _ = drill.actions()
        }
        #expect(drill.kinds == [.credentialExpired])
        drill.pass(40000)
        _ = drill.actions()
        #expect(drill.kinds == [.credentialExpired, .credentialExpired])
    }

    @Test func `the clocks are checked at least once a minute`() {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800))
        #expect(drill.schedule.wait(at: drill.now) == 60)
        drill.pass(23_990)
        #expect(drill.schedule.wait(at: drill.now) == 10)
    }
}
