import Testing

@testable import SSOAgent

/// What a change of the login sessions means.
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
        Case("nothing to nothing", [:], [:], []),
        Case("the first look at nobody", nil, [:], []),
        Case("the first look at an open screen", nil, ["a": desk], []),
        Case("the first look at a locked screen", nil, ["a": locked], [.locked], isLocked: true),
        Case("locked", ["a": desk], ["a": locked], [.locked], isLocked: true),
        Case("still locked", ["a": locked], ["a": locked], [], isLocked: true),
        Case("unlocked", ["a": locked], ["a": desk], []),
        Case("one that locks itself and does not say so", ["a": desk], ["a": desk], requests: ["a"], [.locked]),
        Case("somebody else's session is told to lock", ["a": desk], ["a": desk], requests: ["b"], []),
        Case("a shell beside a locked screen", ["a": desk, "b": shell], ["a": locked, "b": shell], [.locked], isLocked: true),
        Case("an open screen beside a locked one", ["a": desk, "b": desk], ["a": locked, "b": desk], [.locked]),
        Case("left", ["a": desk], [:], [.sessionEnded]),
        Case("left, and a process lingers", ["a": desk], ["a": leaving], [.sessionEnded]),
        Case("what lingered is gone too", ["a": leaving], [:], []),
        Case("left while it is locked", ["a": locked], [:], [.sessionEnded]),
        Case("one of two has ended", ["a": desk, "b": shell], ["b": shell], []),
        Case("another one has begun meanwhile", ["a": desk], ["b": desk], []),
        Case("only jobs are left", ["a": desk], ["b": Session(category: "background")], [.sessionEnded]),
        Case("a greeter has ended", ["a": Session(category: "greeter")], [:], []),
        Case("the service manager's own session does not count", ["a": desk], ["m": Session(category: "manager")], [.sessionEnded]),
        Case("an early session is one", ["a": desk], ["b": Session(category: "user-early")], []),
    ])
    func `what it means`(_ item: Case) {
        let after = LoginState(sessions: item.after)
        #expect(after.changes(since: item.before.map { LoginState(sessions: $0) }, requests: item.requests) == item.changes)
        #expect(after.isLocked == item.isLocked)
    }
}
