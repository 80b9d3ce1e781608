import Foundation
import KerberosTesting
import Testing

@Suite struct RealmFaultTests {
    private static let users = ["alice": "secret"]

    @Test func aStoppedKDCRefusesAndAStartedOneKeepsItsPorts() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let ports = (realm.kdcPort, realm.kdcUDPPort)
            try await realm.stopKDC()
            let refused = try await signIn(realm)
            #expect(refused.errors.contains("Cannot contact any KDC"))
            try await realm.startKDC()
            #expect((realm.kdcPort, realm.kdcUDPPort) == ports)
            #expect(try await signIn(realm).exitStatus == 0)
        }
    }

    @Test func aTakenPortIsReplaced() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let port = realm.kdcPort
            try await realm.stopKDC()
            let squatter = try Listener(port: port)
            try await realm.startKDC()
            #expect(realm.kdcPort != port)
            #expect(try await signIn(realm).exitStatus == 0)
            withExtendedLifetime(squatter) {}
        }
    }

    @Test func aRunningKDCIsNotStartedTwice() async throws {
        try await withTestRealm { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.startKDC() }
            #expect(error?.code == .serverNotReady)
            let answer = try await realm.run("kinit", ["nobody"])
            #expect(answer.errors.contains("not found in Kerberos database"))
        }
    }

    @Test func aPausedKDCAnswersOnlyAfterwards() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let before = try requests(realm)
            try await realm.pauseKDC()
            async let waiting = signIn(realm)
            // The request sits in the kernel's queue: the KDC takes it up once it runs on.
            try await eventually { queuedConnections(to: realm.kdcPort) > 0 }
            #expect(try requests(realm) == before)
            try await realm.resumeKDC()
            #expect(try await waiting.exitStatus == 0)
            #expect(try requests(realm) > before)
        }
    }

    @Test func aPausedKDCEndsWithItsRealm() async throws {
        let directory = try await withTestRealm { realm in
            try await realm.pauseKDC()
            return realm.directory
        }
        #expect(processes(of: directory).isEmpty)
    }

    @Test(arguments: [-3600, 3600])
    func theClockOfTheKDCIsOff(seconds: Int) async throws {
        try await withTestRealm(.init(users: Self.users, clockOffset: .seconds(seconds))) { realm in
            let skewed = try await realm.run(
                "kinit",
                ["alice"],
                environment: ["KRB5_CONFIG": try withoutTimeSync(realm)],
                input: "secret\n"
            )
            #expect(skewed.errors.contains("Clock skew too great"))
            try await realm.stopKDC()
            try await realm.startKDC()
            #expect(try await signIn(realm).exitStatus == 0)
        }
    }

    @Test func ticketsExpireAsSoonAsAsked() async throws {
        try await withTestRealm(.init(users: Self.users, ticketLifetime: .seconds(7))) { realm in
            let principal = try await realm.kadmin(["get_principal", "alice"])
            #expect(principal.contains("Maximum ticket life: 0 days 00:00:07"))
        }
    }

    @Test func withoutPreauthenticationNothingIsCounted() async throws {
        try await withTestRealm(.init(users: Self.users, requiresPreauthentication: false)) { realm in
            _ = try await realm.run("kinit", ["alice"], input: "wrong\n")
            #expect(try await realm.failedAttempts(of: "alice") == 0)
        }
    }

    private func signIn(_ realm: TestRealm) async throws -> CommandResult {
        try await realm.run("kinit", ["alice"], input: "secret\n")
    }

    private func requests(_ realm: TestRealm) throws -> Int {
        try realm.log().split(separator: "\n").count { $0.contains("AS_REQ") }
    }

    private func withoutTimeSync(_ realm: TestRealm) throws -> String {
        let path = "\(realm.directory)/strict.conf"
        try "[libdefaults]\nkdc_timesync = 0\n".write(toFile: path, atomically: true, encoding: .utf8)
        return "\(path):\(realm.configurationPath)"
    }
}
