import Kerberos
import KerberosTesting
import Testing

/// Which services are reached through trusts, with MIT's programs and the KDCs' referrals.
@Suite struct RealmTrustTests {
    private static func options(_ letters: String...) -> [TestRealmOptions] {
        letters.map { TestRealmOptions(name: "\($0.uppercased()).TEST", users: ["alice": "secret"], services: ["HTTP/web.\($0).test"]) }
    }

    /// Expects that a user of the realm is referred to a service of another, or is not.
    private func expect(
        _ realm: TestRealm,
        reaches letter: String,
        _ isReached: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await realm.kinit("alice", password: "secret")
        let reply = try await realm.run("kvno", ["-S", "HTTP", "web.\(letter).test"])
        #expect((reply.exitStatus == 0) == isReached, "\(reply.errors)", sourceLocation: sourceLocation)
        let services = try await realm.klist().credentials.map(\.server.description)
        let service = "HTTP/web.\(letter).test@\(letter.uppercased()).TEST"
        #expect(services.contains(service) == isReached, "\(services)", sourceLocation: sourceLocation)
    }

    @Test func `a one-way trust works in one direction only`() async throws {
        try await withTestRealms(Self.options("a", "b"), trusts: [.oneWay(from: "A.TEST", to: "B.TEST")]) { realms in
            try await expect(realms[0], reaches: "b")
            try await expect(realms[1], reaches: "a", false)
        }
    }

    @Test func `a two-way trust works in both directions`() async throws {
        try await withTestRealms(Self.options("a", "b"), trusts: [.twoWay("A.TEST", "B.TEST")]) { realms in
            #expect(TestRealm.current?.name == "A.TEST")
            try await expect(realms[0], reaches: "b")
            try await expect(realms[1], reaches: "a")
        }
    }

    @Test func `realms without a trust do not reach each other`() async throws {
        try await withTestRealms(Self.options("a", "b")) { realms in
            try await expect(realms[0], reaches: "b", false)
        }
    }

    @Test func `a service is reached through a chain of trusts`() async throws {
        let trusts: [RealmTrust] = [
            .twoWay("A.TEST", "B.TEST"), .twoWay("B.TEST", "C.TEST"), .oneWay(from: "C.TEST", to: "D.TEST"),
        ]
        try await withTestRealms(Self.options("a", "b", "c", "d"), trusts: trusts) { realms in
            try await expect(realms[0], reaches: "c")
            try await expect(realms[0], reaches: "d")
            #expect(try realms[1].log().contains("krbtgt/C.TEST@B.TEST"))
            try await expect(realms[2], reaches: "a")
            try await expect(realms[3], reaches: "a", false)
        }
    }

    /// Two paths lead from A to D.
    @Test(arguments: ["B", "C"])
    func `the configured path between realms is used`(between: String) async throws {
        let trusts: [RealmTrust] = [
            .twoWay("A.TEST", "B.TEST"), .twoWay("A.TEST", "C.TEST"), .twoWay("B.TEST", "D.TEST"), .twoWay("C.TEST", "D.TEST"),
        ]
        let path = RealmPath(from: "A.TEST", to: "D.TEST", through: ["\(between).TEST"])
        try await withTestRealms(Self.options("a", "b", "c", "d"), trusts: trusts, paths: [path]) { realms in
            try await expect(realms[0], reaches: "d")
            for letter in ["B", "C"] {
                let realm = realms[letter == "B" ? 1 : 2]
                #expect(try realm.log().contains("krbtgt/D.TEST@\(letter).TEST") == (letter == between))
            }
        }
    }

    @Test func `without paths only directly trusted realms are reached`() async throws {
        let trusts: [RealmTrust] = [.twoWay("A.TEST", "B.TEST"), .twoWay("B.TEST", "C.TEST")]
        try await withTestRealms(Self.options("a", "b", "c"), trusts: trusts, paths: []) { realms in
            try await expect(realms[0], reaches: "b")
            try await expect(realms[0], reaches: "c", false)
        }
    }

    @Test(arguments: [
        ([RealmTrust.twoWay("A.TEST", "X.TEST")], [RealmPath]?.none), ([], [RealmPath(from: "A.TEST", to: "X.TEST", through: [])]),
        ([.oneWay(from: "A.TEST", to: "B.TEST")], [RealmPath(from: "B.TEST", to: "A.TEST", through: [])]),
    ])
    func `an impossible trust or path is rejected`(trusts: [RealmTrust], paths: [RealmPath]?) async throws {
        let error = await #expect(throws: KerberosTestingError.self) {
            try await withTestRealms(Self.options("a", "b"), trusts: trusts, paths: paths) { _ in }
        }
        #expect(error?.code == .invalidArgument)
    }
}
