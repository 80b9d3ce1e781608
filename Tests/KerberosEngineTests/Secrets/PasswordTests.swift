import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

private let options = TestRealmOptions(services: ["HTTP/www.example.test"], acceptsPasswordChanges: true)

/// Password changes with a profile's rules, at a real kadmind.
@Suite(.testRealm(options)) struct PasswordTests {
    let realm: TestRealm

    init() throws { realm = try #require(TestRealm.current) }

    private func home(_ rules: PasswordRules = .init()) throws -> CacheHome {
        let configuration = ExtensionConfiguration(
            realm: realm.name,
            hosts: [try HostRule(".example.test")],
            passwords: rules,
            source: "corp.yaml"
        )
        return try CacheHome(realm, configurations: [configuration])
    }

    @Test func `an expired password is changed during the sign-in`() async throws {
        let (home, user) = (try home(), try await realm.newUser("-pwexpire yesterday"))
        let prompter = AnsweringPrompter(["secret"], new: [["Fresh 1", "Fresh 1"]])
        let session = try await home.makeExtension().signIn(user, using: .prompter(prompter))
        #expect(session.isSignedIn && session.principal.components == [user])
        #expect(session.passwordChanged != nil)
        // The current password is prompted for once; the sign-in with the new one needs no prompt.
        #expect(prompter.kinds == [.password, .newPassword])
        #expect(prompter.requests[0].banner?.contains("has expired") == true)
        _ = try await home.makeExtension().signIn(user, using: .password(Secret("Fresh 1")))
    }

    @Test func `without a prompter an expired password is an error that names ksso passwd`() async throws {
        let (home, user) = (try home(), try await realm.newUser("+needchange"))
        let error = await kerberosError { try await home.makeExtension().signIn(user, using: .secret) }
        #expect(error?.code == .passwordExpired)
        #expect(error?.message == "the password has expired. Change it with: ksso passwd \(user)@\(realm.name)")
    }

    private static let elsewhere: [(rules: PasswordRules, words: String)] = [
        (.init(changeURL: "https://password.example/"), "https://password.example/"),
        (.init(isChangeAllowed: false), "corp.yaml does not allow"),
    ]

    @Test(arguments: elsewhere, [false, true])
    func `a password that must be changed elsewhere is not prompted for`(_ place: (rules: PasswordRules, words: String), isExpired: Bool)
        async throws
    {
        let home = try home(place.rules)
        let user = isExpired ? try await realm.newUser("-pwexpire yesterday") : try await realm.newUser()
        let prompter = AnsweringPrompter(["secret"], new: [["Fresh 1", "Fresh 1"]])
        let error = await kerberosError {
            if isExpired {
                _ = try await home.makeExtension().signIn(user, using: .prompter(prompter))
            } else {
                try await home.makeExtension().changePassword(of: user, prompt: prompter)
            }
        }
        #expect(error?.code == (isExpired ? .passwordExpired : .policyRefused))
        #expect(error?.message.contains(place.words) == true, "\(String(describing: error))")
        #expect(prompter.requests.isEmpty)
    }

    @Test func `the profile's rules are checked before the password is sent to the KDC`() async throws {
        let (home, user) = (try home(.init(minimumLength: 12, requiresComplexity: true)), try await realm.newUser())
        let prompter = AnsweringPrompter(
            ["secret"],
            new: [["short", "short"], ["Long enough 1", "Another 12345"], ["Long enough 1", "Long enough 1"]]
        )
        let change = try await home.makeExtension().changePassword(of: user, prompt: prompter)
        #expect(change.principal.components == [user])
        let banners = prompter.requests.dropFirst().map { $0.banner ?? "" }
        try #require(banners.count == 3)
        #expect(banners[0].hasPrefix("The new password requires at least 12 characters"))
        #expect(banners[1].contains("It requires at least 12 characters.") && banners[1].contains("three kinds"))
        #expect(banners[2] == "The two new passwords differ.")
        let requests = try realm.log().split(separator: "\n").count {
            $0.contains("\(user)@") && $0.contains("kadmin/changepw") && $0.contains("ISSUE")
        }
        #expect(requests == 1)
    }

    @Test func `a new password that the KDC refuses is prompted for again with its reason`() async throws {
        let policy = "policy\(UUID().uuidString)"
        _ = try await realm.kadmin(["add_policy", "-minlength", "10", policy])
        let (home, user) = (try home(.init(requirementsText: "Ask Bob for the rules.")), try await realm.newUser())
        _ = try await realm.kadmin(["modify_principal", "-policy", policy, user])
        let prompter = AnsweringPrompter(["secret"], new: [["short", "short"], ["long enough", "long enough"]])
        try await home.makeExtension().changePassword(of: user, prompt: prompter)
        #expect(prompter.requests[1].banner == "Ask Bob for the rules.")
        #expect(prompter.requests[2].banner?.hasPrefix("The KDC refused the new password: ") == true)
    }

    @Test func `the user is prompted for a new password at most three times`() async throws {
        let (home, user) = (try home(.init(minimumLength: 100)), try await realm.newUser())
        let prompter = AnsweringPrompter(["secret"], new: Array(repeating: ["short", "short"], count: 9))
        let error = await kerberosError { try await home.makeExtension().changePassword(of: user, prompt: prompter) }
        #expect(error?.code == .passwordRefused)
        #expect(prompter.requests.count == 4)
    }

    @Test(arguments: [[], ["secret"]])
    func `a canceled prompt leaves the password unchanged`(answers: [String]) async throws {
        let (home, user) = (try home(), try await realm.newUser())
        let error = await kerberosError {
            try await home.makeExtension().changePassword(of: user, prompt: AnsweringPrompter(answers))
        }
        #expect(error?.code == .canceled)
        _ = try await home.makeExtension().signIn(user, using: .secret)
    }

    @Test func `a password change keeps the tickets and is recorded in the session`() async throws {
        let (home, user) = (try home(), try await realm.newUser("-pwexpire \"5 days\""))
        let kerberos = home.makeExtension()
        let before = try await kerberos.signIn(user, using: .secret)
        #expect(before.passwordChanged == nil)
        let days = try #require(before.passwordExpires).timeIntervalSince(home.clock.now) / 86_400
        #expect((4.5...5.5).contains(days))
        _ = try await kerberos.grant("www.example.test")
        let change = try await kerberos.changePassword(of: user, from: Secret("secret"), to: Secret("Fresh 1"))
        let after = try #require(try await kerberos.sessions().sessions.first)
        #expect(after.services.map(\.principal.description) == ["HTTP/www.example.test@\(realm.name)"])
        #expect(after.ticketExpires == before.ticketExpires && after.isSignedIn)
        #expect(after.passwordChanged == change.changed)
        #expect(after.passwordExpires == nil && change.expires == nil)
        // The record survives another sign-in.
        let again = try await kerberos.signIn(user, using: .password(Secret("Fresh 1")))
        #expect(again.passwordChanged == change.changed)
    }

    @Test func `the minimum password age counts from the last change`() async throws {
        let (home, user) = (try home(.init(minimumAge: 2, expireOverride: 30)), try await realm.newUser())
        let kerberos = home.makeExtension()
        try await kerberos.signIn(user, using: .secret)
        let change = try await kerberos.changePassword(of: user, from: Secret("secret"), to: Secret("Fresh 1"))
        #expect(change.expires == change.changed + 30 * 86_400)
        #expect(try await kerberos.sessions().sessions.first?.passwordExpires == change.expires)
        let error = await kerberosError { try await kerberos.changePassword(of: user, from: Secret("Fresh 1"), to: Secret("Fresh 2")) }
        #expect(error?.code == .passwordRefused)
        home.clock.advance(by: 2 * 86_400)
        try await kerberos.changePassword(of: user, from: Secret("Fresh 1"), to: Secret("Fresh 2"))
    }

    @Test func `with a history of one the new password must differ from the current one`() async throws {
        let (home, user) = (try home(.init(history: 1)), try await realm.newUser())
        let error = await kerberosError {
            try await home.makeExtension().changePassword(of: user, from: Secret("secret"), to: Secret("secret"))
        }
        #expect(error?.message.contains("must differ") == true)
    }

    @Test func `a new password that contains a part of the user's name is refused`() async throws {
        var home = try home(.init(requiresComplexity: true))
        let user = try await realm.newUser()
        (home.options.userName, home.options.displayName) = (user, { "Alice Liddell" })
        let kerberos = home.makeExtension()
        let error = await kerberosError { try await kerberos.changePassword(from: Secret("secret"), to: Secret("Liddell 1!")) }
        #expect(error?.message.contains("part of your name") == true)
        try await kerberos.changePassword(from: Secret("secret"), to: Secret("Hatter 1!"))
    }
}
