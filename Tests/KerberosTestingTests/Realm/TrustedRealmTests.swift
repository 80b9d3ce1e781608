import KerberosTesting
import Testing

@Suite struct TrustedRealmTests {
    private static let first = TestRealmOptions(name: "A.TEST", users: ["alice": "secret"], services: ["HTTP/web.a.test"])
    private static let second = TestRealmOptions(name: "B.TEST", users: ["bob": "secret"], services: ["HTTP/web.b.test"])

    @Test func `users of both realms reach services of the other realm`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, second in
            _ = try await first.run("kinit", ["alice"], input: "secret\n")
            let there = try await first.run("kvno", ["HTTP/web.b.test@B.TEST"])
            #expect(there.output == "HTTP/web.b.test@B.TEST: kvno = 1\n", "\(there.errors)")
            _ = try await second.run("kinit", ["bob"], input: "secret\n")
            let back = try await second.run("kvno", ["HTTP/web.a.test@A.TEST"])
            #expect(back.output == "HTTP/web.a.test@A.TEST: kvno = 1\n", "\(back.errors)")
        }
    }

    @Test func `the KDC refers a client by the domain of the host`() async throws {
        try await withTrustedRealms(Self.first, Self.second) { first, _ in
            _ = try await first.run("kinit", ["alice"], input: "secret\n")
            let referred = try await first.run("kvno", ["-S", "HTTP", "web.b.test"])
            #expect(referred.exitStatus == 0, "\(referred.errors)")
            let tickets = try await first.run("klist", []).output
            #expect(tickets.contains("Ticket server: HTTP/web.b.test@B.TEST"))
            #expect(try first.log().contains("krbtgt/B.TEST@A.TEST"))
        }
    }

    @Test func `two realms with the same name are rejected`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) {
            try await withTrustedRealms(Self.first, Self.first) { _, _ in }
        }
        #expect(error?.code == .invalidArgument)
    }
}
