import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos

/// The default deadline of a call to a KDC.
@Suite struct DefaultDeadlineTests {
    @Test(
        arguments: [
            ([], .seconds(10)), (["kdc2.example.test"], .seconds(25)), (["kdc2.example.test", "kdc3.example.test"], .seconds(25)),
        ] as [([String], Duration)]
    )
    func `the default deadline is longer if the realm has several KDCs`(preferred: [String], deadline: Duration) async throws {
        try await withTestRealm { realm in
            var configuration = realm.configuration
            configuration.preferredKDCs = preferred
            let client = KerberosClient(configuration)
            let chosen = try await client.defaultDeadline()
            #expect(chosen == deadline)
        }
    }

    /// A.TEST and B.TEST have one KDC each, C.TEST has two. A call that does not involve C.TEST does not wait for it.
    @Test(
        arguments: [
            (.own, 10), (.wayTo("A.TEST"), 10), (.wayTo("B.TEST"), 10), (.wayTo("C.TEST"), 25), (.wayTo(""), 10), (.wayTo("D.TEST"), 25),
        ] as [(AskedRealms, Int)]
    )
    func `the default deadline depends on the KDCs of all realms that a call may contact`(realms: AskedRealms, seconds: Int) async throws {
        try await withTestRealm { realm in
            let path = try realm.writeConfiguration(
                """
                [realms]
                A.TEST = {
                kdc = kdc.a.test
                }
                C.TEST = {
                kdc = kdc1.c.test
                kdc = kdc2.c.test
                }
                """
            )
            let other = ["B.TEST": ["kdc.b.test"]]
            let client = KerberosClient(RealmConfiguration(realm: "A.TEST", otherKDCs: other, base: .files([path])))
            let chosen = try await client.defaultDeadline(realms)
            #expect(chosen == .seconds(seconds))
        }
    }

    private func withTrust(_ body: (SignedIn, TestRealm, Principal) async throws -> Void) async throws {
        let options = [
            TestRealmOptions(name: "A.TEST", users: ["alice": "secret"]),
            TestRealmOptions(name: "B.TEST", services: ["HTTP/web.b.test"], kdcCount: 2),
        ]
        try await withTestRealms(options, trusts: [.oneWay(from: "A.TEST", to: "B.TEST")]) { realms in
            try await body(realms[0].signIn(), realms[1], Principal("HTTP/web.b.test@B.TEST"))
        }
    }

    /// libkrb5 waits ten seconds for the first KDC. The deadline is ten seconds until the client's own KDC refers it to the trusted realm.
    @Test func `a call waits long enough for the second KDC of a trusted realm`() async throws {
        try await withTrust { user, other, service in
            try await other.pauseKDC(0)
            let ticket = try await user.serviceTicket(Principal("HTTP/web.b.test@"))
            #expect(ticket.server == service, "\(ticket.server)")
            try await other.resumeKDC(0)
        }
    }

    @Test(arguments: ["B.TEST", ""]) func `a timeout is reported for all realms on the path to the service`(realm: String) async throws {
        try await withTrust { user, other, _ in
            try await other.pauseKDC()
            let service = try Principal("HTTP/web.b.test@\(realm)")
            let error = await expectFailure(.kdcUnreachable) {
                _ = try await user.client.serviceTicket(for: service, in: user.cache, deadline: .milliseconds(300))
            }
            let place = realm.isEmpty ? "the service" : "B.TEST"
            #expect(
                error?.message.contains("no KDC of A.TEST, or of another realm on the path to \(place), answered") == true,
                "\(error as Any)"
            )
            try await other.resumeKDC()
        }
    }
}
