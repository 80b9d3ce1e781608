import Foundation
import SignOnPolicy
import Testing

/// The password rules of a profile: complexity, length, notices and dates.
@Suite struct PasswordRulesTests {
    private static let complex: [(password: String, isComplex: Bool)] = [
        ("Abc1", true), ("abc1!", true), ("ABC1!", true), ("Abc!", true), ("abcdefgh", false), ("abcd1234", false), ("ABCD!!!!", false),
        ("漢字漢字", false), ("漢字a1", true), ("漢字aB", true), ("Ñandú1", true), ("ñandú", false), ("", false), ("    aB", true),
        // A digit of another script counts neither as a letter nor as an ASCII digit.
        ("٣٣aB", true),
    ]

    @Test(arguments: complex)
    func `a complex password has three kinds of characters`(password: String, isComplex: Bool) {
        let rules = PasswordRules(requiresComplexity: true)
        #expect(rules.violations(of: password.utf8, accountName: "alice").isEmpty == isComplex)
        #expect(PasswordRules().violations(of: password.utf8, accountName: "alice").isEmpty)
    }

    private static let names: [(password: String, account: String, display: String?, isGood: Bool)] = [
        ("xAlice1!", "alice", nil, false), ("xALICE1!", "Alice", nil, false), ("xAlic1!e", "alice", nil, true),
        ("Ab1!al", "al", nil, true), ("Liddell1!", "alice", "Alice P. Liddell", false), ("liDDell1!", "alice", "Liddell,Alice", false),
        ("Tab1!wert", "alice", "x\twert", false), ("Pl1!xx", "alice", "A. Pl", true), ("ÉLODIE1!a", "x", "Élodie", false),
        ("Jean1!xx", "x", "Jean-Luc", false), ("Nummer1!", "x", "a#nummer", false), ("xyz1!AB", "x", "x_yz", true),
    ]

    @Test(arguments: names)
    func `a complex password must not contain a part of the user's names`(password: String, account: String, display: String?, isGood: Bool)
    {
        let rules = PasswordRules(requiresComplexity: true)
        #expect(rules.violations(of: password.utf8, accountName: account, displayName: display).isEmpty == isGood)
    }

    @Test(arguments: [("12345678", true), ("1234567", false), ("漢漢漢漢漢漢漢漢", true), ("漢漢漢漢", false)])
    func `a password's length is counted in characters, not bytes`(password: String, isGood: Bool) {
        let sentences = PasswordRules(minimumLength: 8).violations(of: password.utf8, accountName: "alice")
        #expect(sentences == (isGood ? [] : ["It requires at least 8 characters."]))
    }

    @Test func `a password that is not text is checked without being quoted`() {
        let rules = PasswordRules(minimumLength: 20, requiresComplexity: true)
        let sentences = rules.violations(of: [0xFF, 0xC3, 0x28, 0x41] as [UInt8], accountName: "alice", displayName: "Alice")
        #expect(sentences.count == 2)
        #expect(sentences.allSatisfy { !$0.contains("(A") && !$0.contains("\u{FFFD}") })
    }

    @Test func `a length of one is one character`() {
        let rules = PasswordRules(minimumLength: 1)
        #expect(rules.requirements == "The new password requires at least 1 character.")
        #expect(rules.violations(of: [UInt8](), accountName: "alice") == ["It requires at least 1 character."])
    }

    @Test func `the requirements text is used if neither length nor complexity is set`() {
        #expect(PasswordRules().requirements == nil)
        #expect(PasswordRules(requirementsText: "Be kind.").requirements == "Be kind.")
        #expect(PasswordRules(minimumLength: 9, requirementsText: "Be kind.").requirements?.contains("at least 9 characters") == true)
        #expect(PasswordRules(requiresComplexity: true, requirementsText: "Be kind.").requirements?.contains("kind.") == false)
    }

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static let notices: [(days: Double, rules: PasswordRules, isDue: Bool)] = [
        (14, .init(), true), (16, .init(), false), (-1, .init(), false), (0, .init(), false), (20, .init(notificationDays: 30), true),
        (1, .init(notificationDays: 0), false), (14, .init(givesNotices: false), false),
    ]

    @Test(arguments: notices)
    func `an expiry notice is due before the password expires, not afterwards`(days: Double, rules: PasswordRules, isDue: Bool) {
        #expect(rules.isNoticeDue(expires: Self.now + days * 86_400, now: Self.now) == isDue)
    }

    @Test func `password ages are counted from the known last change`() {
        let rules = PasswordRules(minimumAge: 2, expireOverride: 30)
        #expect(rules.earliestChange(changed: Self.now) == Self.now + 2 * 86_400)
        #expect(rules.earliestChange(changed: nil) == nil && PasswordRules().earliestChange(changed: Self.now) == nil)
        #expect(rules.expiry(announced: Self.now, changed: Self.now) == Self.now + 30 * 86_400)
        #expect(rules.expiry(announced: Self.now, changed: nil) == Self.now)
        #expect(PasswordRules().expiry(announced: nil, changed: Self.now) == nil)
    }

    @Test func `a realm's password rules come from its profile and include its source`() {
        let configurations = [
            ExtensionConfiguration(realm: "A.TEST", passwords: .init(minimumLength: 5), source: "a.yaml"),
            ExtensionConfiguration(realm: "B.TEST", source: "b.yaml"),
        ]
        #expect(configurations.passwordRules(for: "A.TEST") == PasswordRules(minimumLength: 5, source: "a.yaml"))
        #expect(configurations.passwordRules(for: "B.TEST") == PasswordRules(source: "b.yaml"))
        #expect(configurations.passwordRules(for: "C.TEST") == PasswordRules())
    }
}
