import Foundation
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import Testing

private typealias Drill = ScheduleDrill

/// How the schedule reacts to changes of the network.
@Suite struct ScheduleNetworkTests {
    private let key = Drill.session().key
    private let probe = SessionSchedule.Action.probe(realm: "A.TEST", principal: "alice@A.TEST")

    @Test func `many network changes in a row cause one probe of the KDC`() {
        var drill = Drill()
        drill.observe(Drill.session())
        for _ in 0..<50 {
            drill.schedule.networkChanged(at: drill.now)
            drill.pass(0.02)
        }
        #expect(drill.actions() == [probe])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.run(for: 600) == [])
        #expect(drill.kinds == [.networkAvailable])
    }

    @Test(arguments: [false, true])
    func `without monitoring of credentials, a due ticket is renewed only after a network change`(_ hasKeytab: Bool) {
        var drill = Drill(monitorsCredentials: false)
        drill.observe(Drill.session(renewUntil: hasKeytab ? nil : 604_800, keytab: hasKeytab))
        // A ticket that is not due is not renewed, neither now nor when it becomes due.
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(1)
        #expect(drill.actions() == [probe])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.run(for: 30000) == [])
        drill.schedule.networkChanged(at: drill.now)
        #expect(drill.actions() == [.refresh(key)])
        drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
        drill.observe(Drill.session(from: 30001, to: 66001, renewUntil: hasKeytab ? nil : 604_800, keytab: hasKeytab, signedIn: 0))
        drill.pass(0.5)
        #expect(drill.actions() == [probe])
        #expect(drill.run(for: 30000) == [])
    }

    @Test func `a KDC that does not answer is probed again for about fifteen seconds`() {
        var drill = Drill()
        drill.schedule.networkChanged(at: drill.now)
        let times = drill.run(for: 3600) { drill, action in
            #expect(action == .probe(realm: "A.TEST", principal: nil))
            drill.schedule.probeFinished(realm: "A.TEST", isReachable: false, at: drill.now)
        }
        #expect(times == [0.5, 1.5, 3.5, 7.5, 15.5])
        #expect(drill.kinds == [.networkNotAvailable])
    }

    @Test func `a network change during a probe causes another probe`() {
        var drill = Drill()
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(1)
        #expect(drill.actions().count == 1)
        drill.schedule.networkChanged(at: drill.now)
        #expect(drill.actions() == [])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.run(for: 10) == [0.5])
    }

    @Test func `an attempt that was delayed by failures is made when the KDC answers again`() {
        var drill = Drill()
        drill.observe(Drill.session(keytab: true))
        drill.pass(24000)
        _ = drill.run(for: 800) { drill, action in
            guard case .refresh(let key) = action else { return }
            drill.schedule.refreshFinished(key, .unreachable, at: drill.now)
        }
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(0.5)
        #expect(drill.actions() == [probe])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.actions() == [.refresh(key)])
        #expect(drill.kinds == [.networkNotAvailable, .networkAvailable])
    }

    @Test func `an attempt that hangs in the old network is abandoned and repeated`() {
        var drill = Drill()
        drill.observe(Drill.session(keytab: true))
        drill.pass(24000)
        #expect(drill.actions() == [.refresh(key)])
        drill.pass(5)
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(0.5)
        #expect(drill.actions() == [probe])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.actions() == [.abandon(key)])
        drill.schedule.refreshFinished(key, .abandoned, at: drill.now)
        #expect(drill.actions() == [.refresh(key)])
    }

    @Test(arguments: [(true, [299]), (false, [])] as [(Bool, [Double])])
    func `a network change does not bring forward the next attempt after a refusal`(_ hasKeytab: Bool, _ times: [Double]) {
        var drill = Drill()
        drill.observe(Drill.session(renewUntil: 604_800, keytab: hasKeytab))
        drill.pass(24000)
        #expect(drill.actions() == [.refresh(key)])
        drill.schedule.refreshFinished(key, .refused, at: drill.now)
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(1)
        #expect(drill.actions() == [probe])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.run(for: 3600) == times)
    }
}
