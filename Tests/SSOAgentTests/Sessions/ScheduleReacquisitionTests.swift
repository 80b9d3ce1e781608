import Foundation
import Kerberos
import KerberosEngine
import SSOAgent
import SSOAgentClient
import Testing

private typealias Drill = ScheduleDrill

/// When a failed reacquisition is tried again, depending on the error and on what the ticket is reacquired with.
@Suite struct ScheduleReacquisitionTests {
    struct Failure: Sendable, CustomTestStringConvertible {
        let code: KerberosError.Code
        let reacquisition: Session.Reacquisition
        /// The seconds of the attempts within twenty minutes, from the first one.
        let seconds: [Double]

        var testDescription: String { "\(code.rawValue), \(reacquisition)" }

        init(_ code: KerberosError.Code, _ reacquisition: Session.Reacquisition, _ seconds: [Double]) {
            (self.code, self.reacquisition, self.seconds) = (code, reacquisition, seconds)
        }
    }

    /// Returns the seconds of the attempts if each fails with a code.
    private func attempts(_ session: SessionSnapshot, _ code: KerberosError.Code, after start: Double, for seconds: Double) -> [Double] {
        var drill = Drill()
        drill.observe(session)
        drill.pass(start)
        return drill.run(for: seconds) { drill, action in
            guard case .refresh(let key) = action else { return }
            let error = KerberosError(code, subject: key.principal, message: "refused.")
            drill.schedule.refreshFinished(key, RefreshOutcome(error), at: drill.now)
        }
    }

    @Test(arguments: [
        Failure(.accountLocked, .none, [0]), Failure(.accountLocked, .key, [0, 300, 600, 900, 1200]),
        Failure(.accountLocked, .certificate, [0, 300, 600, 900, 1200]),
        Failure(.certificateRefused, .certificate, [0, 300, 600, 900, 1200]),
        Failure(.preauthenticationRefused, .certificate, [0, 300, 600, 900, 1200]),
        Failure(.other, .certificate, [0, 10, 30, 70, 150, 310, 610, 910]),
        Failure(.busy, .certificate, [0, 10, 30, 70, 150, 310, 610, 910]),
        Failure(.kdcUnreachable, .certificate, [0, 10, 30, 70, 150, 310, 610, 910]),
        Failure(.notInteractive, .none, [0]), Failure(.notInteractive, .key, [0, 300, 600, 900, 1200]),
        Failure(.notInteractive, .certificate, [0]),
    ])
    func `before expiry, a key or a certificate is tried again, but not if it requires a PIN`(_ failure: Failure) {
        let session = Drill.session(renewUntil: 604_800, reacquisition: failure.reacquisition)
        #expect(attempts(session, failure.code, after: 24000, for: 1200) == failure.seconds)
    }

    @Test(arguments: [
        Failure(.accountLocked, .key, [0, 300, 600, 900, 1200]), Failure(.accountLocked, .certificate, [0]),
        Failure(.certificateRefused, .certificate, [0]), Failure(.other, .certificate, [0]),
        Failure(.notInteractive, .certificate, [0]), Failure(.other, .none, []),
        Failure(.kdcUnreachable, .certificate, [0, 10, 30, 70, 150, 310, 610, 910]),
        Failure(.busy, .certificate, [0, 10, 30, 70, 150, 310, 610, 910]),
    ])
    func `after expiry, a certificate is tried once at a KDC that answers`(_ failure: Failure) {
        #expect(attempts(Drill.session(reacquisition: failure.reacquisition), failure.code, after: 36000, for: 1200) == failure.seconds)
    }

    /// The attempt at 36000 follows the one at 35700, which was before the expiry.
    @Test func `a refused certificate is tried every five minutes until the ticket expires`() {
        let times = attempts(Drill.session(reacquisition: .certificate), .certificateRefused, after: 35400, for: 40000)
        #expect(times == [0, 300, 600])
    }

    @Test func `a certificate is used again for every ticket, even after a temporary refusal`() {
        var drill = Drill()
        drill.observe(Drill.session(reacquisition: .certificate))
        var failures = 0
        let seen = drill.run(for: 50000) { drill, action in
            guard case .refresh(let key) = action else { return }
            if failures < 2 {
                failures += 1
                let error = KerberosError(.accountLocked, subject: key.principal, message: "locked.")
                return drill.schedule.refreshFinished(key, RefreshOutcome(error), at: drill.now)
            }
            drill.schedule.refreshFinished(key, .refreshed, at: drill.now)
            let begin = drill.now.wall.timeIntervalSince(Drill.start)
            drill.observe(Drill.session(from: begin, to: begin + 36000, reacquisition: .certificate))
        }
        #expect(seen == [24000, 24300, 24600, 48600])
    }

    @Test func `a sign-in during the last attempt is not affected by that attempt's failure`() {
        var drill = Drill()
        drill.observe(Drill.session(reacquisition: .certificate))
        drill.pass(36000)
        #expect(drill.actions() == [.refresh(Drill.session().key)])
        drill.observe(Drill.session(from: 36000, to: 72000, reacquisition: .certificate))
        drill.schedule.refreshFinished(Drill.session().key, .needsPerson, at: drill.now)
        #expect(drill.run(for: 24000).count == 1)
    }

    @Test func `a new sign-in resumes the attempts that stopped after the ticket expired`() {
        var drill = Drill()
        drill.observe(Drill.session(reacquisition: .certificate))
        drill.pass(36000)
        #expect(drill.actions() == [.refresh(Drill.session().key)])
        drill.schedule.refreshFinished(Drill.session().key, .refused, at: drill.now)
        #expect(drill.run(for: 3600) == [])
        drill.observe(Drill.session(from: 39600, to: 75600, reacquisition: .certificate))
        #expect(drill.run(for: 30000).count == 1)
    }
}
