import Foundation
import Testing

@testable import ActiveDirectory

@Suite struct DirectoryEntryTests {
    private static let day = 86_400.0

    private func account(_ values: [String: String]) throws -> DirectoryAccount {
        let all = ["sAMAccountName": "alice"].merging(values) { $1 }
        return try #require(DirectoryAccount(LDAPEntry(distinguishedName: "CN=alice", values: all)))
    }

    /// 132539328000000000 is 2021-01-01 00:00 UTC.
    @Test(arguments: [
        ("132539328000000000", DirectoryAccount.PasswordExpiry.at(Date(timeIntervalSince1970: 1_609_459_200))),
        ("9223372036854775807", .never), ("0", .mustChange), ("-1", .never),
    ])
    func `the expiry of a password is read`(value: String, expiry: DirectoryAccount.PasswordExpiry) throws {
        #expect(try account(["msDS-UserPasswordExpiryTimeComputed": value]).passwordExpiry == expiry)
    }

    @Test func `an account without the attribute, or with another value, has no known expiry`() throws {
        #expect(try account([:]).passwordExpiry == nil)
        #expect(try account(["msDS-UserPasswordExpiryTimeComputed": "soon"]).passwordExpiry == nil)
        #expect(try account(["msDS-UserPasswordExpiryTimeComputed": "92233720368547758070"]).passwordExpiry == nil)
    }

    @Test(arguments: [("512", "0", false, false), ("514", "0", true, false), ("512", "16", false, true), ("66050", "16", true, true)])
    func `disabled and locked accounts are distinguished`(
        control: String,
        computed: String,
        isDisabled: Bool,
        isLocked: Bool
    ) throws {
        let account = try account(["userAccountControl": control, "msDS-User-Account-Control-Computed": computed])
        #expect(account.isDisabled == isDisabled)
        #expect(account.isLocked == isLocked)
    }

    @Test(arguments: ["0", "9223372036854775807"])
    func `an account without an end does not expire`(value: String) throws {
        #expect(try account(["accountExpires": value]).expires == nil)
    }

    @Test func `attributes are found in any case`() throws {
        let account = try account(["HOMEDIRECTORY": #"\\files\alice"#, "pwdlastset": "132539328000000000"])
        #expect(account.homeDirectory == #"\\files\alice"#)
        #expect(account.passwordChanged == Date(timeIntervalSince1970: 1_609_459_200))
    }

    @Test func `an entry without a name is no account`() {
        #expect(DirectoryAccount(LDAPEntry(distinguishedName: "CN=x", values: ["cn": "x"])) == nil)
    }

    @Test func `the rules of a domain are read`() {
        let values = [
            "minPwdLength": "7", "pwdHistoryLength": "24", "pwdProperties": "1", "minPwdAge": "-864000000000",
            "maxPwdAge": "-36288000000000", "lockoutThreshold": "0",
        ]
        let rules = DomainPasswordRules(domain: LDAPEntry(distinguishedName: "DC=x", values: values))
        #expect(rules.minimumLength == 7 && rules.history == 24 && rules.requiresComplexity == true && rules.lockoutThreshold == 0)
        #expect(rules.minimumAge == Self.day && rules.maximumAge == 42 * Self.day)
    }

    @Test(arguments: ["0", "-9223372036854775808"])
    func `passwords without a maximum age do not expire`(value: String) {
        let rules = DomainPasswordRules(domain: LDAPEntry(distinguishedName: "DC=x", values: ["maxPwdAge": value]))
        #expect(rules.maximumAge == nil)
    }

    @Test(arguments: [
        ("alice", "alice"), ("a*)(uid=*", #"a\2a\29\28uid=\2a"#), (#"CORP\alice"#, #"CORP\5calice"#), ("é", #"\c3\a9"#),
        ("a\0b", #"a\00b"#),
    ])
    func `values in filters are escaped`(value: String, escaped: String) {
        #expect(LDAPFilter.escaped(value) == escaped)
    }

    @Test func `of several accounts with a user principal name none is chosen, unless one has the name for signing in`() {
        func entry(_ name: String) -> LDAPEntry { LDAPEntry(distinguishedName: "CN=\(name)", values: ["sAMAccountName": name]) }
        #expect(LDAPEntry.account("alice@mail.test", among: [entry("alice")]) == entry("alice"))
        #expect(LDAPEntry.account("alice@mail.test", among: [entry("alice"), entry("bob")]) == nil)
        #expect(LDAPEntry.account("BOB", among: [entry("alice"), entry("bob")]) == entry("bob"))
        #expect(LDAPEntry.account("alice", among: []) == nil)
    }
}
