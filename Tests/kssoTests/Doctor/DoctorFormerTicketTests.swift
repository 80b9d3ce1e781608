import KerberosTesting
import SignOnDiagnosis
import SignOnPolicy
import TestSupport
import Testing

/// Tickets that the KDC cannot decrypt, because the realm was reinstalled or its key was changed, are reported with advice.
struct DoctorFormerTicketTests {
    enum Change: String, CaseIterable {
        case reinstallation, newKey
    }

    private func withFormerTicket(_ change: Change, _ body: (Workstation) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"])
        try await withTestRealm(options) { former in
            let before = try await signedIn(former)
            guard change == .reinstallation else {
                try await former.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
                return try await body(before)
            }
            try await withTestRealm(options) { realm in
                let station = try Workstation(realm: realm)
                try station.install(profile())
                try #require(try await station.run(["cp", "\(before.directory)/cache", "\(station.directory)/cache"]).exitStatus == 0)
                try await body(station)
            }
        }
    }

    private func signedIn(_ realm: TestRealm) async throws -> Workstation {
        let station = try Workstation(realm: realm)
        try station.install(profile())
        let login = try await station.ksso("login", "alice", "--password-stdin", "--renewable", "3d", input: "secret\n")
        try #require(login.exitStatus == 0, "\(login)")
        return station
    }

    private static let command = "ksso login --force alice@EXAMPLE.TEST"

    @Test(arguments: Change.allCases)
    func `the doctor advises to sign in again if the KDC cannot decrypt the TGT`(change: Change) async throws {
        try await withFormerTicket(change) { station in
            let checks = try await station.doctor("http://localhost:1/").checks
            let service = try #require(checks.first { $0.name == "service" })
            #expect(
                service.verdict == .failed && service.detail.hasPrefix("the KDC cannot decrypt the ticket-granting ticket"),
                "\(service)"
            )
            #expect(!service.detail.contains("password") && !service.detail.contains("ign in"), "\(service)")
            #expect(service.remedy?.hasSuffix("Sign in again: \(Self.command)") == true, "\(service)")
            // The advice works.
            let words = Self.command.split(separator: " ").map(String.init) + ["--password-stdin"]
            #expect(try await station.run(words, input: "secret\n").exitStatus == 0)
            #expect(try await station.ksso("header", "http://localhost:1/").exitStatus == 0)
            #expect(try await station.doctor("http://localhost:1/").checks.first { $0.name == "service" }?.verdict == .ok)
        }
    }

    @Test(arguments: Change.allCases)
    func `a request fails with advice to sign in again if the KDC cannot decrypt the TGT`(change: Change) async throws {
        try await withFormerTicket(change) { station in
            let challenge = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", "Negotiate")], body: "no\n")
            try await ScriptedServer.run({ _ in challenge }) { server in
                for command in ["header", "fetch"] {
                    let result = try await station.ksso(command, "http://localhost:\(server.port)/")
                    #expect(result.exitStatus == 5, "\(command): \(result)")
                    #expect(result.errors.hasPrefix("ksso: HTTP/localhost: the KDC cannot read the ticket-granting ticket ("), "\(result)")
                    #expect(result.errors.hasSuffix(" Sign in again with: \(Self.command)\n"), "\(result)")
                }
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `a renewal fails with advice to sign in again if the KDC cannot decrypt the TGT`(change: Change) async throws {
        try await withFormerTicket(change) { station in
            let result = try await station.ksso("refresh")
            #expect(result.exitStatus == 5 && result.errors.hasPrefix("ksso: alice@EXAMPLE.TEST: the KDC cannot read"), "\(result)")
            #expect(result.errors.hasSuffix("the KDC was reinstalled. Sign in again with: \(Self.command)\n"), "\(result)")
        }
    }
}
