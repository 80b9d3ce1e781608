import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret", "zoë": "pässwörd"])) struct SignInTests {
    @Test(arguments: [("alice", "secret"), ("zoë", "pässwörd")])
    func `a password gets a ticket-granting ticket`(name: String, password: String) async throws {
        let realm = try TestRealm.required()
        let before = Date(timeIntervalSinceNow: -2)
        let ticket = try await realm.signIn(name, password: password, options: .init(lifetime: .seconds(3600))).ticket
        #expect(try ticket.client == realm.principal(name))
        #expect(ticket.server.description == "krbtgt/\(realm.name)@\(realm.name)")
        #expect(ticket.times.authenticated >= before)
        #expect(ticket.times.starts >= before)
        #expect(ticket.isValid(at: Date()))
        #expect(!ticket.isValid(at: ticket.times.expires))
        #expect(!ticket.isRenewable)
        #expect(ticket.times.renewUntil == nil)
    }

    @Test func `a sign-in stores its ticket in no cache`() async throws {
        let realm = try TestRealm.required()
        let client = KerberosClient(realm.configuration(defaultCacheName: "FILE:\(realm.newPath())"))
        _ = try await client.initialCredential(for: realm.principal("alice"), using: .password(Secret("secret")))
        #expect(try await client.cacheNames().isEmpty)
    }

    @Test func `the description of a ticket does not show its key`() async throws {
        let ticket = try await TestRealm.required().signIn().ticket
        var dumped = ""
        dump(ticket, to: &dumped)
        #expect(dumped.contains("<secret>"))
        #expect("\(ticket)".hasPrefix("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST for alice@EXAMPLE.TEST, until "))
    }

    @Test func `many sign-ins run concurrently`() async throws {
        let realm = try TestRealm.required()
        let client = realm.client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try await realm.signIn(client: client) } }
            for _ in 0..<8 { group.addTask { _ = try await realm.signIn() } }
            try await group.waitForAll()
        }
    }

    @Test func `the trace describes the sign-in without the password`() async throws {
        let realm = try TestRealm.required()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let client = KerberosClient(realm.configuration) { continuation.yield($0) }
        _ = try await client.initialCredential(for: realm.principal("alice"), using: .password(Secret("secret")))
        continuation.finish()
        let text = await lines.reduce(into: "") { $0 += $1 }
        #expect(text.contains("Getting initial credentials for alice@EXAMPLE.TEST"))
        #expect(!text.contains("secret"))
    }
}

/// Sign-ins with accounts that the KDC refuses.
@Suite(.testRealm()) struct RefusedAccountTests {
    private static let cases: [(flags: [String], code: KerberosError.Code)] = [
        (["-pwexpire yesterday"], .passwordExpired),
        (["-expire yesterday"], .accountExpired),
        (["-allow_tix"], .accountLocked),
        (["+needchange"], .passwordExpired),
    ]

    @Test(arguments: cases)
    func `the error code states why the KDC refuses an account`(flags: [String], code: KerberosError.Code) async throws {
        let realm = try TestRealm.required()
        let name = "user\(UUID().uuidString)"
        try await realm.addUser(name, password: "secret", flags: flags)
        let error = await expectFailure(code) { _ = try await realm.signIn(name) }
        #expect(error?.subject == "\(name)@\(realm.name)")
        #expect(error?.libraryCode != 0)
    }

    @Test(arguments: ["nobody", "nobody/admin", "Alice"])
    func `an unknown principal is reported as unknown`(name: String) async throws {
        let realm = try TestRealm.required()
        await expectFailure(.unknownPrincipal) { _ = try await realm.signIn(name) }
    }

    @Test func `too many wrong passwords lock the account`() async throws {
        let realm = try TestRealm.required()
        _ = try await realm.kadmin(["add_policy", "-maxfailure", "2", "-failurecountinterval", "0", "-lockoutduration", "0", "strict"])
        try await realm.addUser("locked", password: "secret", flags: ["-policy strict"])
        for _ in 0..<2 { await expectFailure(.wrongPassword) { _ = try await realm.signIn("locked", password: "wrong") } }
        await expectFailure(.accountLocked) { _ = try await realm.signIn("locked") }
        _ = try await realm.kadmin(["modify_principal", "-unlock", "locked"])
        _ = try await realm.signIn("locked")
    }

    @Test func `a realm without a known KDC is reported as unknown`() async throws {
        let realm = try TestRealm.required()
        await expectFailure(.realmUnknown) { _ = try await realm.signIn("alice@ELSEWHERE.TEST") }
    }
}
