import Foundation
import KerberosTesting
import TestSupport
import Testing

@Suite struct RealmFaultTests {
    private static let users = ["alice": "secret"]

    @Test func `a stopped KDC refuses connections, and a restarted KDC keeps its port`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let port = realm.kdcPort
            try await realm.stopKDC()
            let refused = try await signIn(realm)
            #expect(refused.errors.contains("Cannot contact any KDC"))
            try await realm.startKDC()
            #expect(realm.kdcPort == port)
            #expect(try await signIn(realm).exitStatus == 0)
        }
    }

    /// Otherwise another realm's KDC could answer in its place. Neither a program that binds any port nor one that binds this port gets it.
    @Test func `no other socket gets the port of a stopped KDC`() async throws {
        let script = """
            import socket, sys
            for kind, reuse in ((socket.SOCK_STREAM, 0), (socket.SOCK_DGRAM, 1)):
                with socket.socket(socket.AF_INET, kind) as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
                    try: s.bind(("127.0.0.1", int(sys.argv[1]))); print("bound")
                    except OSError as error: print(error.strerror)
            """
        try await withTestRealm { realm in
            for _ in 0..<2 {
                let reply = try await realm.run("python3", ["-c", script, "\(realm.kdcPort)"])
                #expect(reply.output == "Address already in use\nAddress already in use\n", "\(reply)")
                try await realm.stopKDC()
            }
        }
    }

    /// Tests of a suite share its realm. Because changes run one after another, the second start finds a running KDC.
    @Test func `concurrent changes to a KDC run one after another`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            try await realm.stopKDC()
            async let first: Void = realm.startKDC()
            async let second: Void = realm.startKDC()
            var failures: [String] = []
            do { try await first } catch { failures.append("\(error)") }
            do { try await second } catch { failures.append("\(error)") }
            #expect(failures.count == 1 && failures.allSatisfy { $0.contains("is already running") }, "\(failures)")
            async let ahead: Void = realm.setKDCClock(offset: .seconds(60))
            async let behind: Void = realm.setKDCClock(offset: .seconds(-60))
            _ = try await (ahead, behind)
            #expect(try await signIn(realm).exitStatus == 0)
        }
    }

    @Test func `a KDC port that is already in use is reported`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            try await realm.stopKDC()
            do {
                let occupant = try Listener(port: realm.kdcPort)
                let error = await #expect(throws: KerberosTestingError.self) { try await realm.startKDC() }
                #expect(
                    error?.code == .serverNotReady && error?.message.contains("Address already in use") == true,
                    "\(String(describing: error))"
                )
                withExtendedLifetime(occupant) {}
            }
            try await realm.startKDC()
            #expect(try await signIn(realm).exitStatus == 0)
        }
    }

    @Test func `a running KDC is not started twice`() async throws {
        try await withTestRealm { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.startKDC() }
            #expect(error?.code == .serverNotReady)
            let answer = try await realm.run("kinit", ["nobody"])
            #expect(answer.errors.contains("not found in Kerberos database"))
        }
    }

    @Test func `a paused KDC answers only after it is resumed`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let before = try requests(realm)
            try await realm.pauseKDC()
            async let waiting = signIn(realm)
            // The request waits in the kernel's queue until the KDC is resumed.
            try await eventually { queuedConnections(to: realm.kdcPort) > 0 }
            #expect(try requests(realm) == before)
            try await realm.resumeKDC()
            #expect(try await waiting.exitStatus == 0)
            #expect(try requests(realm) > before)
        }
    }

    @Test func `a paused KDC stops with its realm`() async throws {
        let directory = try await withTestRealm { realm in
            try await realm.pauseKDC()
            return realm.directory
        }
        #expect(processes(of: directory).isEmpty)
    }

    @Test(arguments: [-3600, 3600])
    func `a KDC can start with a wrong clock`(seconds: Int) async throws {
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

    @Test func `the ticket lifetime of a realm applies to its users`() async throws {
        try await withTestRealm(.init(users: Self.users, ticketLifetime: .seconds(7))) { realm in
            let principal = try await realm.kadmin(["get_principal", "alice"])
            #expect(principal.contains("Maximum ticket life: 0 days 00:00:07"))
        }
    }

    @Test func `without pre-authentication no failed attempts are counted`() async throws {
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
