import Foundation
import Kerberos
import KerberosTesting
import Testing

/// Realms with several KDCs, of which clients use the next if the first does not answer.
@Suite struct SeveralKDCTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], kdcCount: 2)

    /// Which KDCs have issued tickets for alice.
    private func servers(_ realm: TestRealm) throws -> [Bool] {
        try (0..<2).map { try realm.log(ofKDC: $0).contains(/ISSUE.* alice@/) }
    }

    @Test(arguments: ["stop", "kill"])
    func `the second KDC answers after the first is stopped or killed`(way: String) async throws {
        try await withTestRealm(Self.options) { realm in
            #expect(Set(realm.kdcPorts).count == 2)
            try await realm.kinit("alice", password: "secret")
            #expect(try servers(realm) == [true, false])
            if way == "stop" { try await realm.stopKDC(0) } else { try await realm.killKDC(0) }
            try await realm.kinit("alice", password: "secret")
            #expect(try await realm.kvno("HTTP/localhost") == 1)
            #expect(try servers(realm) == [true, true])
            try await realm.startKDC(0)
            let before = try realm.log(ofKDC: 1)
            try await realm.kinit("alice", password: "secret")
            #expect(try realm.log(ofKDC: 1) == before)
        }
    }

    @Test func `the second KDC answers while the first is paused`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.pauseKDC(0)
            let alice = try Principal("alice@EXAMPLE.TEST")
            _ = try await realm.makeClient().initialCredential(for: alice, using: .password(Secret("secret")))
            #expect(try servers(realm) == [false, true])
            try await realm.resumeKDC(0)
        }
    }

    @Test func `a sign-in fails while all KDCs are stopped`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.stopKDC()
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.kinit("alice", password: "secret") }
            #expect(error?.code == .commandFailed)
            #expect(error?.message.contains("Cannot contact any KDC") == true)
            try await realm.startKDC(1)
            try await realm.kinit("alice", password: "secret")
            try await realm.startKDC()
            #expect(await #expect(throws: KerberosTestingError.self) { try await realm.startKDC() }?.code == .serverNotReady)
        }
    }

    @Test func `the realm's log contains the requests to every KDC`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.kinit("alice", password: "secret")
            try await realm.stopKDC(0)
            try await realm.kinit("alice", password: "secret")
            #expect(try realm.log().matches(of: /AS_REQ .*ISSUE.* alice@/).count == 2)
        }
    }

    /// The KDCs share one database.
    @Test func `failed attempts at different KDCs add up`() async throws {
        try await withTestRealm(Self.options) { realm in
            for number in 0..<2 {
                try await realm.startKDC(1 - number, unlessRunning: true)
                try await realm.stopKDC(number)
                await #expect(throws: KerberosTestingError.self) { try await realm.kinit("alice", password: "wrong") }
            }
            #expect(try await realm.failedAttempts(of: "alice") == 2)
        }
    }

    @Test(arguments: [-1, 2])
    func `the number of a missing KDC is rejected`(number: Int) async throws {
        try await withTestRealm(Self.options) { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.stopKDC(number) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `a realm without a KDC is rejected`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) { try await withTestRealm(.init(kdcCount: 0)) { _ in } }
        #expect(error?.code == .invalidArgument)
    }
}

extension TestRealm {
    fileprivate func startKDC(_ number: Int, unlessRunning: Bool) async throws {
        do { try await startKDC(number) } catch let error as KerberosTestingError where error.code == .serverNotReady && unlessRunning {}
    }
}
