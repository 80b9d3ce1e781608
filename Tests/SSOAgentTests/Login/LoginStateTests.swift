import Testing

@testable import SSOAgent

/// Which changes the agent derives from the states of a user's login sessions.
@Suite struct LoginStateTests {
    private typealias Session = LoginState.Session

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before: [String: LoginState.Session]?
        let after: [String: LoginState.Session]
        var requests: Set<String> = []
        let changes: Set<LoginChange>
        let isLocked: Bool

        init(
            _ text: String,
            _ before: [String: LoginState.Session]?,
            _ after: [String: LoginState.Session],
            requests: Set<String> = [],
            _ changes: Set<LoginChange>,
            isLocked: Bool = false
        ) {
            (testDescription, self.before, self.after, self.requests) = (text, before, after, requests)
            (self.changes, self.isLocked) = (changes, isLocked)
        }
    }

    private static let desk = Session(type: "wayland")
    private static let locked = Session(type: "wayland", isLocked: true)
    private static let shell = Session(type: "tty")
    private static let leaving = Session(type: "wayland", state: "closing")

    @Test(arguments: [
        Case("no session before and after", [:], [:], []),
        Case("the first look without a session", nil, [:], []),
        Case("the first look at an unlocked screen", nil, ["a": desk], []),
        Case("the first look at a locked screen", nil, ["a": locked], [.locked], isLocked: true),
        Case("locked", ["a": desk], ["a": locked], [.locked], isLocked: true),
        Case("still locked", ["a": locked], ["a": locked], [], isLocked: true),
        Case("unlocked", ["a": locked], ["a": desk], []),
        Case("a lock request to a session that sets no locked hint", ["a": desk], ["a": desk], requests: ["a"], [.locked]),
        Case("a lock request to another user's session", ["a": desk], ["a": desk], requests: ["b"], []),
        Case("a shell next to a locked screen", ["a": desk, "b": shell], ["a": locked, "b": shell], [.locked], isLocked: true),
        Case("an unlocked screen next to a locked one", ["a": desk, "b": desk], ["a": locked, "b": desk], [.locked]),
        Case("logged out", ["a": desk], [:], [.sessionEnded]),
        Case("logged out with a lingering process", ["a": desk], ["a": leaving], [.sessionEnded]),
        Case("the lingering session ends too", ["a": leaving], [:], []),
        Case("logged out while locked", ["a": locked], [:], [.sessionEnded]),
        Case("one of two has ended", ["a": desk, "b": shell], ["b": shell], []),
        Case("another session has begun in the meantime", ["a": desk], ["b": desk], []),
        Case("only background jobs are left", ["a": desk], ["b": Session(category: "background")], [.sessionEnded]),
        Case("a greeter has ended", ["a": Session(category: "greeter")], [:], []),
        Case("the service manager's own session does not count", ["a": desk], ["m": Session(category: "manager")], [.sessionEnded]),
        Case("an early session counts", ["a": desk], ["b": Session(category: "user-early")], []),
    ])
    func `a change of login sessions is reported as a screen lock or a session end`(_ item: Case) {
        let after = LoginState(sessions: item.after)
        #expect(after.changes(since: item.before.map { LoginState(sessions: $0) }, requests: item.requests) == item.changes)
        #expect(after.isLocked == item.isLocked)
    }
}
