import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

private let policy = PasswordPolicy(
    "strict",
    minimumLength: 8,
    minimumClasses: 3,
    history: 2,
    maximumLifetime: .seconds(864_000),
    maximumFailures: 2,
    failureCountInterval: .seconds(600),
    lockoutDuration: .seconds(300)
)
private let principals = [
    TestPrincipal("short", password: "secret", ticketLifetime: .seconds(60), renewableLifetime: .seconds(120)),
    TestPrincipal("past", password: "secret", expires: .past),
    TestPrincipal("soon", password: "secret", expires: .after(.seconds(3600))),
    TestPrincipal("stale", password: "secret", passwordExpires: .past),
    TestPrincipal("shut", password: "secret", attributes: [.locked]),
    TestPrincipal("new", password: "secret", attributes: [.needsPasswordChange]),
    TestPrincipal("open", password: "secret", attributes: [.needsNoPreauthentication]),
    TestPrincipal("fixed", password: "secret", attributes: [.notForwardable, .notRenewable]),
    TestPrincipal("small", password: "secret", encryptionTypes: [.aes128SHA256]),
    TestPrincipal("strict user", password: "Secret-1234", policy: "strict"),
    TestPrincipal("HTTP/trusted", attributes: [.okAsDelegate], encryptionTypes: [.aes128]),
    TestPrincipal("host/client.only", attributes: [.notAService]),
]

/// The properties of principals, and their effect at the KDC.
@Suite(.testRealm(.init(services: ["HTTP/localhost"], principals: principals, policies: [policy])))
struct PrincipalTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    private func signIn(_ name: String, _ password: String = "secret", options: InitialCredentialOptions = .init()) async throws
        -> Credential
    {
        let principal = try Principal("\(name.replacing(" ", with: "\\ "))@EXAMPLE.TEST")
        return try await KerberosClient(realm.configuration).initialCredential(
            for: principal,
            using: .password(Secret(password)),
            options: options
        )
    }

    @Test(arguments: [
        ("past", KerberosError.Code.accountExpired), ("shut", .accountLocked), ("stale", .passwordExpired), ("new", .passwordExpired),
    ])
    func `an account that may not sign in is refused with the reason`(name: String, code: KerberosError.Code) async throws {
        let error = await #expect(throws: KerberosError.self) { try await signIn(name) }
        #expect(error?.code == code)
    }

    @Test func `an account that expires in the future can sign in`() async throws {
        _ = try await signIn("soon")
        let text = try await realm.run("kadmin.local", ["get_principal", "soon"], environment: ["TZ": "UTC"]).output
        #expect(text.contains(/(^|\n)Expiration date: \w+ \w+ \d+ [\d:]+ UTC \d+/))
    }

    @Test(arguments: ["UTC", "Asia/Tokyo"])
    func `an expiry is an absolute time in every time zone`(zone: String) async throws {
        let name = "until-\(zone)"
        let moment = try Date("2035-01-02T03:04:05Z", strategy: .iso8601)
        try await realm.add(TestPrincipal(name, password: "secret", expires: .at(moment), passwordExpires: .at(moment)))
        let text = try await realm.run("kadmin.local", ["get_principal", name], environment: ["TZ": zone]).output
        #expect(
            text.contains(zone == "UTC" ? "Expiration date: Tue Jan 02 03:04:05 UTC 2035" : "Expiration date: Tue Jan 02 12:04:05 JST 2035")
        )
    }

    @Test func `ticket lifetimes can be set for each principal`() async throws {
        let ticket = try await signIn("short", options: .init(renewableLifetime: .seconds(86_400)))
        let start = ticket.times.authenticated
        #expect(ticket.times.expires == start.addingTimeInterval(60))
        #expect(ticket.times.renewUntil == start.addingTimeInterval(120))
    }

    @Test func `the attributes of a principal apply to its tickets`() async throws {
        let options = InitialCredentialOptions(renewableLifetime: .seconds(86_400), isForwardable: true)
        let fixed = try await signIn("fixed", options: options)
        #expect(!fixed.isForwardable && !fixed.isRenewable)
        let soon = try await signIn("soon", options: options)
        #expect(soon.isForwardable && soon.isRenewable)
        _ = await #expect(throws: KerberosError.self) { try await signIn("open", "wrong") }
        #expect(try await realm.failedAttempts(of: "open") == 0)
    }

    @Test func `keys have the requested encryption types`() async throws {
        let lists = try await [realm.keytab(for: "small"), realm.keytab(for: "HTTP/trusted"), realm.keytab(for: "soon")]
            .mapInTurn { try await realm.run("klist", ["-ke", $0]).output }
        #expect(lists[0].contains("aes128-cts-hmac-sha256-128") && !lists[0].contains("aes256"))
        #expect(lists[1].contains("aes128-cts-hmac-sha1-96") && !lists[1].contains("aes256"))
        #expect(lists[2].contains("aes128-cts-hmac-sha1-96") && lists[2].contains("aes256-cts-hmac-sha1-96"))
    }

    @Test func `services have their attributes and are in the keytab`() async throws {
        let list = try await realm.run("klist", ["-k"]).output
        #expect(list.contains("HTTP/trusted@EXAMPLE.TEST") && list.contains("host/client.only@EXAMPLE.TEST"))
        let cache = "FILE:\(realm.directory)/flags"
        _ = try await realm.run("kinit", ["soon"], environment: ["KRB5CCNAME": cache], input: "secret\n")
        let tickets = try await realm.run("kvno", ["HTTP/trusted", "host/client.only"], environment: ["KRB5CCNAME": cache])
        #expect(tickets.output.contains("HTTP/trusted@EXAMPLE.TEST: kvno = 1"))
        #expect(tickets.errors.contains("host/client.only"))
        let trusted = try await KerberosClient(realm.configuration).contents(of: .init(rawValue: cache)).credentials
        #expect(trusted.map(\.isForTrustedService) == [false, true])
    }

    @Test func `a policy checks passwords and locks accounts`() async throws {
        for weak in ["Ab-1", "alllowercase"] {
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.setPassword(of: "strict user", to: weak) }
            #expect(error?.code == .commandFailed)
            #expect(error?.message.contains("Password") == true)
        }
        try await realm.setPassword(of: "strict user", to: "Secret-5678")
        await #expect(throws: KerberosTestingError.self) { try await realm.setPassword(of: "strict user", to: "Secret-1234") }
        for _ in 0..<2 { _ = await #expect(throws: KerberosError.self) { try await signIn("strict user", "wrong") } }
        let locked = await #expect(throws: KerberosError.self) { try await signIn("strict user", "Secret-5678") }
        #expect(locked?.code == .accountLocked)
        try await realm.unlock("strict user")
        _ = try await signIn("strict user", "Secret-5678")
    }

    @Test func `accounts can be changed while the realm runs`() async throws {
        try await realm.add(TestPrincipal("carol", password: "first"))
        _ = try await signIn("carol", "first")
        try await realm.setPassword(of: "carol", to: "second")
        #expect(await #expect(throws: KerberosError.self) { try await signIn("carol", "first") }?.code == .wrongPassword)
        try await realm.lock("carol")
        #expect(await #expect(throws: KerberosError.self) { try await signIn("carol", "second") }?.code == .accountLocked)
        try await realm.unlock("carol")
        try await realm.expirePassword(of: "carol")
        #expect(await #expect(throws: KerberosError.self) { try await signIn("carol", "second") }?.code == .passwordExpired)
        try await realm.expirePassword(of: "carol", .never)
        _ = try await signIn("carol", "second")
        try await realm.expire("carol")
        #expect(await #expect(throws: KerberosError.self) { try await signIn("carol", "second") }?.code == .accountExpired)
        try await realm.remove("carol")
        #expect(await #expect(throws: KerberosError.self) { try await signIn("carol", "second") }?.code == .unknownPrincipal)
    }

    @Test func `a policy can be added later`() async throws {
        try await realm.add(PasswordPolicy("long", minimumLength: 20))
        await #expect(throws: KerberosTestingError.self) { try await realm.add(TestPrincipal("dave", password: "short", policy: "long")) }
        try await realm.add(TestPrincipal("dave", password: "a password that is long enough", policy: "long"))
        _ = try await signIn("dave", "a password that is long enough")
    }

    @Test(arguments: [
        TestPrincipal("", password: "secret"), TestPrincipal("eve", password: ""), TestPrincipal("eve", password: "a\nb"),
        TestPrincipal("eve", password: "secret", ticketLifetime: .zero),
        TestPrincipal("eve", password: "secret", encryptionTypes: [.aes128, .aes128]),
        TestPrincipal("eve", password: "secret", encryptionTypes: [.aes128, EncryptionType("aes128-cts")]),
        TestPrincipal("eve", password: "secret", encryptionTypes: [.aes128, EncryptionType("rot13")]),
        TestPrincipal("eve", password: "secret", policy: "nowhere"),
    ])
    func `an invalid principal is rejected and not created`(principal: TestPrincipal) async throws {
        let error = await #expect(throws: KerberosTestingError.self) { try await realm.add(principal) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
        let list = try await realm.kadmin(["list_principals", "eve"])
        #expect(!list.contains("eve@"))
    }

    @Test func `an unknown encryption type is reported by name`() async throws {
        let principal = TestPrincipal("eve", password: "secret", encryptionTypes: [EncryptionType("rot13")])
        let error = await #expect(throws: KerberosTestingError.self) { try await realm.add(principal) }
        #expect(error?.message.contains("rot13") == true)
    }

    @Test(arguments: [
        ("aes256-cts", "aes256-cts-hmac-sha1-96"), ("AES128-cts", "aes128-cts-hmac-sha1-96"), ("aes256-sha1", "aes256-cts-hmac-sha1-96"),
        ("aes256-sha2", "aes256-cts-hmac-sha384-192"), ("aes128-sha2", "aes128-cts-hmac-sha256-128"),
        ("camellia256-cts", "camellia256-cts-cmac"), ("camellia128-cts-cmac", "camellia128-cts-cmac"), ("rc4-hmac", "arcfour-hmac"),
        ("arcfour-hmac-md5", "arcfour-hmac"), ("des3-hmac-sha1", "des3-cbc-sha1"),
    ])
    func `every name of an encryption type is accepted`(name: String, kind: String) async throws {
        try await realm.add(TestPrincipal("by-\(name)", password: "secret", encryptionTypes: [EncryptionType(name)]))
        let text = try await realm.kadmin(["get_principal", "by-\(name)"])
        #expect(text.contains("Number of keys: 1\n") && text.contains(kind), "\(text)")
    }

    @Test(arguments: [
        PasswordPolicy(""), PasswordPolicy("p", minimumLength: 0), PasswordPolicy("p", minimumClasses: 6),
        PasswordPolicy("p", lockoutDuration: .zero),
    ])
    func `an invalid policy is rejected`(policy: PasswordPolicy) async throws {
        #expect(await #expect(throws: KerberosTestingError.self) { try await realm.add(policy) }?.code == .invalidArgument)
    }

    @Test func `a realm with a principal of an unknown policy does not start`() async throws {
        let options = TestRealmOptions(principals: [TestPrincipal("eve", password: "secret", policy: "nowhere")])
        let error = await #expect(throws: KerberosTestingError.self) { try await withTestRealm(options) { _ in } }
        #expect(error?.code == .invalidArgument)
    }
}

extension Array {
    fileprivate func mapInTurn<R>(_ transform: (Element) async throws -> R) async rethrows -> [R] {
        var results: [R] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
