import Foundation
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import Testing

private typealias Drill = ScheduleDrill

/// Which events report that a password was changed or expires.
@Suite struct SchedulePasswordTests {
    private static let day = 86_400.0

    private func session(_ name: String = "alice", changed: Double? = nil, expires: Double? = nil, cache: String = "FILE:one")
        -> SessionSnapshot
    {
        var session = Drill.session(name, to: 100 * Self.day, cache: cache)
        session.passwordChanged = changed.map { Drill.start + $0 }
        session.passwordExpires = expires.map { Drill.start + $0 }
        return session
    }

    private func changes(_ drill: ScheduleDrill) -> [Date] { drill.events.filter { $0.kind == .passwordChanged }.map(\.date) }

    @Test func `a password change is reported when its mark appears and when the mark becomes later`() {
        var drill = Drill()
        drill.observe(session())
        _ = drill.actions()
        for change in [10.0, 10, 20, 20, 15] {
            drill.observe(session(changed: change))
            _ = drill.actions()
        }
        #expect(changes(drill) == [Drill.start + 10, Drill.start + 20])
        #expect(drill.events.first?.principal == "alice@A.TEST" && drill.events.first?.realm == "A.TEST")
    }

    @Test func `a password change from before the start is not reported, one of a new session is`() {
        var drill = Drill()
        drill.observe(session(changed: 10))
        #expect(drill.actions() == [] && changes(drill) == [])
        drill.observe(session(changed: 10), session("bob", changed: 30, cache: "FILE:two"))
        _ = drill.actions()
        #expect(drill.events.filter { $0.kind == .passwordChanged }.map(\.principal) == ["bob@A.TEST"])
    }

    @Test func `a password change in two caches, or in a cache that reappears, is reported once`() {
        var drill = Drill()
        drill.observe()
        drill.observe(session(changed: 10), session(changed: 10, cache: "FILE:two"))
        _ = drill.actions()
        drill.observe()
        drill.pass(10)
        drill.observe()
        drill.observe(session(changed: 10))
        _ = drill.actions()
        #expect(changes(drill) == [Drill.start + 10])
    }

    @Test func `the expiry of a password is reported once a day for fifteen days`() {
        var drill = Drill()
        drill.observe(session(expires: 20 * Self.day), session(expires: 20 * Self.day, cache: "FILE:two"))
        for _ in 0..<21 { _ = drill.run(for: Self.day) }
        let notices = drill.events.filter { $0.kind == .passwordExpiring }
        #expect(notices.count == 15)
        #expect(Set(notices.map(\.date)) == [Drill.start + 20 * Self.day])
    }

    @Test(arguments: [PasswordRules(givesNotices: false), PasswordRules(notificationDays: 0)])
    func `the expiry of a password is not reported if the profile disables notices`(rules: PasswordRules) {
        var drill = Drill()
        drill.schedule.configure([ExtensionConfiguration(realm: "A.TEST", passwords: rules)], at: drill.now)
        drill.observe(session(expires: Self.day))
        _ = drill.run(for: 2 * Self.day)
        #expect(!drill.kinds.contains(.passwordExpiring))
    }
}
