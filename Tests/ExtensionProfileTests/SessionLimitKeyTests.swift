import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The keys that limit sessions and that sign out.
@Suite struct SessionLimitKeyTests {
    private static func data(_ lines: String) -> Data {
        Data("\(profileText(realm: "EXAMPLE.TEST", hosts: "www.example.test"))\n\(lines)\n".utf8)
    }

    @Test(arguments: ["18:05", "\"18:05\"", "'18:05'"])
    func `a payload sets the limits of its sessions`(_ time: String) throws {
        let lines = "MaxSessionLifetime: 28800\nSignOutAt: \(time)\nIdleSignOutAfter: 900\nSignOutExempt: [kiosk, alice@EXAMPLE.TEST]"
        let profile = try Profile(data: SessionLimitKeyTests.data(lines), source: "a.yaml")
        let limits = try #require(profile.configurations.first?.sessionLimits)
        #expect(
            limits
                == SessionLimits(
                    maximumLifetime: .seconds(28800),
                    signOutAt: .init("18:05"),
                    idleSignOutAfter: .seconds(900),
                    exemptPrincipals: ["kiosk", "alice@EXAMPLE.TEST"]
                )
        )
        #expect(limits.signOutAt?.description == "18:05")
        #expect(limits.exempts("kiosk@EXAMPLE.TEST", realm: "EXAMPLE.TEST") && !limits.exempts("bob@EXAMPLE.TEST", realm: "EXAMPLE.TEST"))
        #expect(!profile.report.hasErrors && !profile.report.hasWarnings, "\(profile.report)")
    }

    @Test(
        arguments: [
            ("SignOutOnLock: true", SessionLimits(signOutOnLock: true), nil),
            ("SignOutOnSessionEnd: true", SessionLimits(signOutOnSessionEnd: true), nil),
            ("SignOutOnLock: false", SessionLimits(), nil),
            ("ScreenLockedBehavior: DoNotHandle", SessionLimits(), .doNotHandle),
            ("ScreenLockedBehavior: Cancel", SessionLimits(), .cancel),
        ] as [(String, SessionLimits, ScreenLockedBehavior?)]
    )
    func `a payload sets what happens when the screen is locked`(_ line: String, _ limits: SessionLimits, _ behavior: ScreenLockedBehavior?)
        throws
    {
        let profile = try Profile(data: SessionLimitKeyTests.data(line), source: "a.yaml")
        #expect(profile.configurations.first?.sessionLimits == limits)
        #expect(profile.configurations.first?.screenLockedBehavior == behavior)
        #expect(!profile.report.hasErrors && !profile.report.hasWarnings, "\(profile.report)")
    }

    @Test(arguments: ["SignOutOnLock: \"true\"", "SignOutOnSessionEnd: 1", "ScreenLockedBehavior: Ignore"])
    func `an unknown value of a screen lock or session end key refuses the file`(_ line: String) throws {
        #expect(throws: ProfileError.self) { try Profile(data: SessionLimitKeyTests.data(line), source: "a.yaml") }
    }

    @Test func `a payload without session limits ends no session`() throws {
        #expect(try Fixture.profile("corporate.yaml").configurations.allSatisfy { $0.sessionLimits == SessionLimits() })
    }

    @Test(arguments: [
        ("MaxSessionLifetime: 59", "MaxSessionLifetime", "60 or more"),
        ("MaxSessionLifetime: -1", "MaxSessionLifetime", "non-negative"),
        ("IdleSignOutAfter: 15", "IdleSignOutAfter", "in seconds"),
        ("SignOutAt: 24:00", "SignOutAt", "such as 18:00"),
        ("SignOutAt: 6pm", "SignOutAt", "such as 18:00"),
        ("SignOutAt: \"7:30\"", "SignOutAt", "such as 18:00"),
        ("SignOutExempt: [\"\"]", "SignOutExempt[0]", "a principal such as alice"),
    ])
    func `an impossible session limit refuses the file`(_ line: String, _ path: String, _ part: String) throws {
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: SessionLimitKeyTests.data(line), source: "a.yaml")
        }
        #expect(error.code == .badValue && error.keyPath?.description == path)
        #expect(error.reason.contains(part), "\(error)")
    }
}
