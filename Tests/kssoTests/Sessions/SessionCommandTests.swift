import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso logout`, `refresh` and `switch`, and several principals of one user.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"]))
struct SessionCommandTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    /// Acquires a ticket with another program. It is not renewable, because the KDC offers that only if it shortens the lifetime.
    private func kinit() async throws {
        #expect(try await station.run(["kinit", "-l", "1h", "alice"], input: "secret\n").exitStatus == 0)
    }

    @Test func `ksso logout destroys the tickets of ksso login`() async throws {
        try await station.signIn()
        #expect(try await station.ksso("logout") == .done("alice@EXAMPLE.TEST is signed out.\n"))
        #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/cache"))
    }

    @Test func `ksso logout without a session fails only if a principal is given`() async throws {
        let notSignedIn = CommandResult(exitStatus: 0, output: "", errors: "not signed in.\n")
        #expect(try await station.ksso("logout") == notSignedIn)
        #expect(try await station.ksso("logout", "--all") == notSignedIn)
        #expect(try await station.ksso("logout", "alice") == .failure(5, "alice@EXAMPLE.TEST: not signed in."))
    }

    @Test func `ksso logout keeps the tickets of other programs unless --all is given`() async throws {
        try await kinit()
        let remark = "ksso: alice@EXAMPLE.TEST: another program acquired this ticket. To destroy it as well: ksso logout --all\n"
        let all = try await station.ksso("logout")
        #expect(all == CommandResult(exitStatus: 0, output: "", errors: remark + "no ticket was destroyed.\n"))
        let named = try await station.ksso("logout", "alice")
        #expect(named == CommandResult(exitStatus: 1, output: "", errors: remark + "no ticket was destroyed.\n"))
        #expect(try await station.run(["klist", "-s"]).exitStatus == 0)
        #expect(try await station.ksso("logout", "--all") == .done("alice@EXAMPLE.TEST is signed out.\n"))
        #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
    }

    @Test func `a ticket that kinit replaced counts as another program's`() async throws {
        try await station.signIn()
        try await kinit()
        #expect(try await station.status().sessions.map(\.acquiredBy) == ["other"])
        #expect(try await station.ksso("logout").errors.contains("another program acquired this ticket"))
    }

    @Test func `ksso logout --realm signs out of that realm only`() async throws {
        try await station.signIn()
        let other = try await station.ksso("logout", "--realm", "OTHER.TEST")
        #expect(other == CommandResult(exitStatus: 0, output: "", errors: "not signed in.\n"))
        #expect(try await station.ksso("logout", "--realm", "EXAMPLE.TEST") == .done("alice@EXAMPLE.TEST is signed out.\n"))
    }

    @Test func `ksso refresh renews a renewable ticket without a new sign-in`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let station = try Workstation(realm: realm)
            let arguments = ["--lifetime", "1h", "--renewable", "1d"]
            let result = try await station.run(["ksso", "login", "alice", "--password-stdin"] + arguments, input: "secret\n")
            #expect(result.exitStatus == 0, "\(result.errors)")
            let requests = try realm.log().components(separatedBy: "AS_REQ").count
            for command in [["refresh"], ["refresh", "alice"], ["refresh", "--realm", "EXAMPLE.TEST"]] {
                let renewed = try await station.run(["ksso"] + command)
                #expect(renewed.withoutTimes == .done("alice@EXAMPLE.TEST is signed in until TIME LEFT.\n"))
            }
            #expect(try realm.log().components(separatedBy: "TGS_REQ").count == 4)
            #expect(try realm.log().components(separatedBy: "AS_REQ").count == requests)
            let session = try #require(try await station.status().sessions.first)
            #expect(session.acquiredBy == "password")
            #expect(session.renewUntil != nil)
        }
    }

    @Test func `ksso refresh keeps the service tickets`() async throws {
        try await station.signIn()
        #expect(try await station.run(["kvno", "HTTP/localhost"]).exitStatus == 0)
        #expect(try await station.ksso("refresh").exitStatus == 0)
        #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
    }

    @Test func `ksso refresh exits with status 4 if renewal would require the password`() async throws {
        try await kinit()
        let line =
            "alice@EXAMPLE.TEST: the ticket cannot be renewed without prompting for the password. "
            + "Sign in again with: ksso login --force alice@EXAMPLE.TEST"
        #expect(try await station.ksso("refresh") == .failure(4, line))
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `ksso refresh reacquires a ticket with its keytab`() async throws {
        let keytab = try await realm.keytab(for: "alice")
        #expect(try await station.ksso("login", "alice", "--keytab", keytab, "--quiet").exitStatus == 0)
        #expect(try await station.ksso("refresh").withoutTimes == .done("alice@EXAMPLE.TEST is signed in until TIME LEFT.\n"))
        #expect(try await station.status().sessions.map(\.acquiredBy) == ["keytab"])
        try FileManager.default.removeItem(atPath: keytab)
        #expect(try await station.ksso("refresh").exitStatus == 1)
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }

    @Test func `ksso refresh without a session exits with status 5`() async throws {
        #expect(try await station.ksso("refresh") == .failure(5, "not signed in. Sign in with: ksso login"))
        let named = try await station.ksso("refresh", "alice")
        #expect(named == .failure(5, "alice@EXAMPLE.TEST: not signed in. Sign in with: ksso login alice@EXAMPLE.TEST"))
    }

    @Test func `two principals can be signed in, each with its own cache`() async throws {
        try await station.signIn("alice")
        try await station.signIn("bob")
        var sessions = try await station.status().sessions
        #expect(Set(sessions.map(\.principal)) == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
        #expect(Set(sessions.map(\.cache)).count == 2)
        #expect(sessions.filter(\.isDefault).map(\.principal) == ["bob@EXAMPLE.TEST"])

        #expect(try await station.ksso("switch", "alice") == .done("alice@EXAMPLE.TEST is the default of EXAMPLE.TEST.\n"))
        sessions = try await station.status().sessions
        #expect(sessions.filter(\.isDefault).map(\.principal) == ["alice@EXAMPLE.TEST"])

        #expect(try await station.ksso("logout", "alice") == .done("alice@EXAMPLE.TEST is signed out.\n"))
        #expect(try await station.status().sessions.map(\.principal) == ["bob@EXAMPLE.TEST"])
        #expect(try await station.ksso("logout") == .done("bob@EXAMPLE.TEST is signed out.\n"))
    }

    @Test func `ksso switch changes the default principal of a cache collection`() async throws {
        try FileManager.default.createDirectory(
            atPath: "\(station.directory)/collection",
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        let environment = ["KRB5CCNAME": "DIR:\(station.directory)/collection"]
        for name in ["alice", "bob"] {
            let result = try await station.ksso("login", name, "--password-stdin", "-q", input: "secret\n", environment: environment)
            #expect(result == .done(""))
        }
        #expect(try await station.run(["klist"], environment: environment).output.contains("Default principal: bob@EXAMPLE.TEST"))
        #expect(try await station.ksso("switch", "alice", environment: environment).exitStatus == 0)
        #expect(try await station.run(["klist"], environment: environment).output.contains("Default principal: alice@EXAMPLE.TEST"))
    }

    @Test func `ksso switch requires a principal that is signed in`() async throws {
        try await station.signIn()
        let line = "bob@EXAMPLE.TEST: not signed in. Sign in with: ksso login bob@EXAMPLE.TEST"
        #expect(try await station.ksso("switch", "bob") == .failure(5, line))
        #expect(try await station.ksso("switch").exitStatus == 64)
    }
}
