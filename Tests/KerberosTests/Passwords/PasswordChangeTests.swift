import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

private let options = TestRealmOptions(users: ["twin": "secret"], acceptsPasswordChanges: true)

/// Password changes with a real kadmind.
@Suite(.testRealm(options)) struct PasswordChangeTests {
    let realm: TestRealm

    init() throws { realm = try TestRealm.required() }

    /// Creates an account for one test.
    private func newUser(_ flag: String? = nil, password: String = "secret") async throws -> Principal {
        try realm.principal(try await realm.newUser(flag, password: password))
    }

    /// Creates an account, and then applies a kadmin policy to it.
    private func newUser(policy: String) async throws -> Principal {
        let (user, name) = (try await newUser(), "policy\(UUID().uuidString)")
        _ = try await realm.kadmin(["add_policy"] + policy.split(separator: " ").map(String.init) + [name])
        _ = try await realm.kadmin(["modify_principal", "-policy", name, user.components[0]])
        return user
    }

    @Test(arguments: ["another secret", "pässwörd ñ 漢字", String(repeating: "x", count: 200)])
    func `the new password signs in and the old one does not`(new: String) async throws {
        let user = try await newUser()
        try await realm.client.changePassword(of: user, from: Secret("secret"), to: Secret(new))
        _ = try await realm.client.initialCredential(for: user, using: .password(Secret(new)))
        await expectFailure(.wrongPassword) { _ = try await realm.client.initialCredential(for: user, using: .password(Secret("secret"))) }
        let login = try await realm.run("kinit", ["-c", realm.newPath(), user.description], input: "\(new)\n")
        #expect(login.exitStatus == 0, "\(login.errors)")
    }

    @Test(arguments: ["-pwexpire yesterday", "+needchange"])
    func `an expired password can be changed`(flag: String) async throws {
        let user = try await newUser(flag)
        let error = await expectFailure(.passwordExpired) {
            _ = try await realm.client.initialCredential(for: user, using: .password(Secret("secret")))
        }
        #expect(error?.message == "the password has expired. Change it with: ksso passwd \(user)")
        try await realm.client.changePassword(of: user, from: Secret("secret"), to: Secret("fresh secret"))
        _ = try await realm.client.initialCredential(for: user, using: .password(Secret("fresh secret")))
    }

    /// Heimdal's kpasswdd counts the final NUL. libkrb5 ignores a message with a NUL and returns general advice instead.
    @Test(arguments: ["Password too short", "Password too short\0", "too short: twelve at least\0\0"])
    func `the password server's message is kept without trailing NULs`(words: String) throws {
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        #expect(context.passwordServerText(Array(words.utf8)) == words.trimmingCharacters(in: ["\0"]))
    }

    @Test func `a wrong current password is sent once and changes nothing`() async throws {
        let user = try await newUser()
        await expectFailure(.wrongPassword) {
            try await realm.client.changePassword(of: user, from: Secret("wrong"), to: Secret("another"))
        }
        #expect(try await realm.failedAttempts(of: user.components[0]) == 1)
        _ = try await realm.client.initialCredential(for: user, using: .password(Secret("secret")))
    }

    private static let refusals: [(policy: String, new: String, words: String)] = [
        ("-minlength 12", "short", "password is too short"),
        ("-minclasses 3", "alllowercase", "enough character classes"),
        ("-history 3", "secret", "used previously|reuse"),
        ("-minlife 1day", "another secret", "changed too recently|must wait|too soon"),
    ]

    @Test(arguments: refusals)
    func `a refused new password is reported with the server's reason`(policy: String, new: String, words: String) async throws {
        let user = try await newUser(policy: policy)
        let error = await expectFailure(.passwordRefused) {
            try await realm.client.changePassword(of: user, from: Secret("secret"), to: Secret(new))
        }
        let message = try #require(error?.message)
        #expect(words.split(separator: "|").contains { message.localizedCaseInsensitiveContains($0) }, "\(message)")
        #expect(message.hasPrefix("the KDC refused the new password: ") && message.hasSuffix(".") && !message.contains("\n"))
        #expect(!"\(String(describing: error))".contains(new) || new == "secret" || new == "short")
        _ = try await realm.client.initialCredential(for: user, using: .password(Secret("secret")))
    }

    @Test func `a password change ticket can be used again after a refusal`() async throws {
        let user = try await newUser(policy: "-minlength 8")
        let client = realm.client
        let credential = try await client.passwordChangeCredential(for: user, using: .password(Secret("secret")))
        #expect(credential.server.components == ["kadmin", "changepw"])
        await expectFailure(.passwordRefused) { try await client.changePassword(with: credential, to: Secret("short")) }
        try await client.changePassword(with: credential, to: Secret("long enough"))
        _ = try await client.initialCredential(for: user, using: .password(Secret("long enough")))
    }

    private static let closed: [(flag: String, code: KerberosError.Code)] = [
        ("-allow_tix", .accountLocked), ("-expire yesterday", .accountExpired),
    ]

    @Test(arguments: closed)
    func `the password of a locked or expired account cannot be changed`(flag: String, code: KerberosError.Code) async throws {
        let user = try await newUser(flag)
        await expectFailure(code) { try await realm.client.changePassword(of: user, from: Secret("secret"), to: Secret("another")) }
    }

    @Test func `an unreachable password server is reported`() async throws {
        let user = try await newUser()
        let client = KerberosClient(try configuration(passwordServer: "127.0.0.1:1"))
        let error = await expectFailure(.kdcUnreachable, .realmUnknown) {
            try await client.changePassword(of: user, from: Secret("secret"), to: Secret("another"), deadline: .seconds(60))
        }
        #expect(error?.message.contains("password server cannot be reached") == true, "\(String(describing: error))")
    }

    @Test func `after a timeout the error does not state which password is valid`() async throws {
        let user = try await newUser()
        let silent = try SilentPort()
        let client = KerberosClient(try configuration(passwordServer: "127.0.0.1:\(silent.port)"))
        let credential = try await client.passwordChangeCredential(for: user, using: .password(Secret("secret")))
        let error = await expectFailure(.kdcUnreachable) {
            try await client.changePassword(with: credential, to: Secret("another"), deadline: .milliseconds(300))
        }
        #expect(error?.message.contains("Try the new one first") == true, "\(String(describing: error))")
    }

    @Test func `a new password with a NUL is refused and not truncated`() async throws {
        let user = try await newUser()
        await expectFailure(.passwordRefused) {
            try await realm.client.changePassword(of: user, from: Secret("secret"), to: Secret("an\0other"))
        }
    }

    private func configuration(passwordServer: String) throws -> RealmConfiguration {
        let text = "[realms]\n    \(realm.name) = {\n        kpasswd_server = \(passwordServer)\n    }*\n"
        var configuration = realm.configuration
        configuration.preferredKDCs = ["127.0.0.1:\(realm.kdcPort)"]
        configuration.base = .files([try realm.writeConfiguration(text), realm.configurationPath])
        return configuration
    }
}

/// The password's expiry, which the reply to a sign-in contains.
@Suite(.testRealm()) struct PasswordExpiryTests {
    private static let cases: [(flags: [String], days: ClosedRange<Double>?)] = [
        (["-pwexpire \"3 days\""], 2.9...3.1), (["-pwexpire \"400 days\""], 399...401), ([], nil), (["-pwexpire never"], nil),
    ]

    @Test(arguments: cases)
    func `a sign-in returns when the password expires`(flags: [String], days: ClosedRange<Double>?) async throws {
        let realm = try TestRealm.required()
        let name = "user\(UUID().uuidString)"
        try await realm.addUser(name, password: "secret", flags: flags)
        let ticket = try await realm.signIn(name).ticket
        let left = ticket.passwordExpires.map { $0.timeIntervalSinceNow / 86_400 }
        #expect((left == nil) == (days == nil))
        if let left, let days { #expect(days.contains(left)) }
    }

    @Test(arguments: [0, -1, 1, 2_147_483_647, 2_136_422_885, 2_136_500_000, -2_000_000_000])
    func `a value that means never or unknown is no expiry`(seconds: Int64) {
        #expect(PasswordExpiry.date(seconds, at: Date(timeIntervalSince1970: 1_800_000_000)) == nil)
    }

    @Test func `a time in the future is an expiry`() {
        let date = PasswordExpiry.date(1_800_000_001, at: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(date == Date(timeIntervalSince1970: 1_800_000_001))
    }
}
