import Foundation
import HTTPNegotiate
import SSOAgent
import SSOAgentClient
import Testing

private typealias Drill = ScheduleDrill

/// What a change of the network brings about.
@Suite struct ScheduleNetworkTests {
    private let key = Drill.session().key
    private let probe = SessionSchedule.Action.probe(realm: "A.TEST", principal: "alice@A.TEST")

    @Test func `a storm of changes is one question, asked soon`() {
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
    func `where the profile leaves tickets to the requests, a due one waits for the network`(_ hasKeytab: Bool) {
        var drill = Drill(monitorsCredentials: false)
        drill.observe(Drill.session(renewUntil: hasKeytab ? nil : 604_800, keytab: hasKeytab))
        // One that is not due is not wanted either, then or later.
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

    @Test func `without an answer it is asked again for a quarter of a minute`() {
        var drill = Drill()
        drill.schedule.networkChanged(at: drill.now)
        let times = drill.run(for: 3600) { drill, action in
            #expect(action == .probe(realm: "A.TEST", principal: nil))
            drill.schedule.probeFinished(realm: "A.TEST", isReachable: false, at: drill.now)
        }
        #expect(times == [0.5, 1.5, 3.5, 7.5, 15.5])
        #expect(drill.kinds == [.networkNotAvailable])
    }

    @Test func `a change while the KDC is asked asks again`() {
        var drill = Drill()
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(1)
        #expect(drill.actions().count == 1)
        drill.schedule.networkChanged(at: drill.now)
        #expect(drill.actions() == [])
        drill.schedule.probeFinished(realm: "A.TEST", isReachable: true, at: drill.now)
        #expect(drill.run(for: 10) == [0.5])
    }

    @Test func `what waits after failures is tried when the KDC answers again`() {
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

    @Test func `an attempt that hangs in the old network is begun anew`() {
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
    func `a refusal stays one in every network`(_ hasKeytab: Bool, _ times: [Double]) {
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
