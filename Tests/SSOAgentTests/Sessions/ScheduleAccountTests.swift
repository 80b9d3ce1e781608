import Foundation
import SSOAgent
import Testing

private typealias Drill = ScheduleDrill

/// When the accounts of sessions are read in the directories of their domains.
@Suite struct ScheduleAccountTests {
    private static let hour = 3600.0
    private let key = Drill.session().key

    private func session(read: Double? = nil) -> SessionSnapshot {
        var session = Drill.session()
        session.accountRead = read.map { Drill.start + $0 }
        return session
    }

    @Test func `an account is read at once, and again after four hours`() {
        var drill = Drill(readsAccounts: true)
        drill.observe(session())
        #expect(drill.actions() == [.readAccount(key)])
        #expect(drill.actions() == [])
        drill.schedule.accountReadingFinished(key, .read, at: drill.now)
        drill.observe(session(read: 0))
        #expect(drill.actions() == [])
        drill.pass(4 * Self.hour - 1)
        #expect(drill.actions() == [])
        #expect(drill.schedule.wait(at: drill.now) <= 1)
        drill.pass(1)
        #expect(drill.actions() == [.readAccount(key)])
    }

    @Test(arguments: [(AccountReadingOutcome.failed, 1800.0), (.noDirectory, 4 * hour), (.read, 300)])
    func `a reading without a result is repeated after a pause`(outcome: AccountReadingOutcome, pause: Double) {
        var drill = Drill(readsAccounts: true)
        drill.observe(session())
        #expect(drill.actions() == [.readAccount(key)])
        drill.schedule.accountReadingFinished(key, outcome, at: drill.now)
        drill.pass(pause - 1)
        #expect(drill.actions() == [])
        drill.pass(1)
        #expect(drill.actions() == [.readAccount(key)])
    }

    @Test func `the account of an expired ticket is not read`() {
        var drill = Drill(readsAccounts: true)
        drill.pass(10 * Self.hour)
        drill.observe(session())
        #expect(!drill.actions().contains(.readAccount(key)))
    }

    @Test func `an account that was read in the future, by a clock that was corrected since, is read at once`() {
        var drill = Drill(readsAccounts: true)
        drill.observe(session(read: 1000 * Self.hour))
        #expect(drill.actions() == [.readAccount(key)])
    }

    @Test func `a new sign-in and another network end the pause`() {
        var drill = Drill(readsAccounts: true)
        drill.observe(session())
        #expect(drill.actions() == [.readAccount(key)])
        drill.schedule.accountReadingFinished(key, .noDirectory, at: drill.now)
        drill.pass(100)
        drill.observe(Drill.session(from: 100, to: 36_100))
        #expect(drill.actions() == [.readAccount(key)])
        drill.schedule.accountReadingFinished(key, .failed, at: drill.now)
        drill.pass(100)
        #expect(drill.actions() == [])
        drill.schedule.networkChanged(at: drill.now)
        drill.pass(30)
        #expect(drill.actions().contains(.readAccount(key)))
    }
}
