import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// How many credential caches an agent stores, and for how long.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["app"]), .timeLimit(.minutes(5)))
struct AgentCacheTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func exec(_ words: String..., input: String? = nil) async throws -> CommandResult {
        try await station.run(["ksso", "exec", "--"] + words, input: input)
    }

    @Test func `a sign-in beyond --max-caches fails, and the agent reports how to make room`() async throws {
        let sentence =
            "user \(geteuid()) has 1 credential caches, which is the limit (--max-caches). "
            + "Remove unused caches with kdestroy -c NAME, or all of them with kdestroy -A."
        try await station.withAgent(["--max-caches", "1"]) { agent async throws in
            try await station.signIn()
            let second = try await exec("kinit", "bob", input: "secret\n")
            try #require(second.exitStatus != 0 && second.errors.contains("Disk quota exceeded"), "\(second)")
            try await agent.wait(for: sentence)
            #expect(try await station.ksso("agent", "status").output.contains(sentence))
            #expect(try await exec("kdestroy", "-A").exitStatus == 0)
            #expect(try await exec("kinit", "bob", input: "secret\n").exitStatus == 0)
        }
    }

    /// The options, how far the clock moves after the sign-ins, and whether an expired cache is removed. The tickets from kinit are valid
    /// for an hour, that of the keytab can be renewed for a week at most.
    @Test(
        .enabled(if: MovableClock.isAvailable, MovableClock.obstacle),
        .skipped(under: .address, because: MovableClock.sanitizerObstacle),
        .skipped(under: .thread, because: MovableClock.sanitizerObstacle),
        arguments: [
            (["--keep-expired", "1d"], "+20d", true), ([], "+6d", false), ([], "+20d", true), (["--keep-expired", "never"], "+20d", false),
        ]
    )
    func `expired caches are removed after --keep-expired`(options: [String], offset: String, isRemoved: Bool) async throws {
        let clock = try MovableClock(station, movesMonotonic: true)
        let keytab = try await station.realm.keytab(for: "app")
        let output = try await clock.withAgent(options) {
            #expect(try await exec("kinit", "-l", "1h", "alice", input: "secret\n").exitStatus == 0)
            #expect(try await station.ksso("login", "app", "--keytab", keytab).exitStatus == 0)
            #expect(try await exec("kinit", "-l", "1h", "bob", input: "secret\n").exitStatus == 0)
            // Without its keytab the agent cannot reacquire app's ticket.
            try FileManager.default.removeItem(atPath: keytab)
            try clock.move(to: offset)
            // The first request wakes the server, whose timer is due then. Each later one finds the caches that remain.
            for _ in 1...2 { _ = try await exec("klist", "-l") }
            let list = try await exec("klist", "-l").output
            #expect(list.contains("alice@EXAMPLE.TEST") != isRemoved, "\(list)")
            // The primary cache and one that a keytab can fill again are kept.
            #expect(list.contains("bob@EXAMPLE.TEST") && list.contains("app@EXAMPLE.TEST"), "\(list)")
        }
        #expect(output.contains(" of alice@EXAMPLE.TEST was removed: since ") == isRemoved, "\(output)")
        #expect(output.components(separatedBy: " was removed: since ").count == (isRemoved ? 2 : 1), "\(output)")
    }

    /// No KDC runs while the clock moves, so that the agent cannot sign in again in the meantime.
    @Test(
        .enabled(if: MovableClock.isAvailable, MovableClock.obstacle),
        .enabled(if: KernelKey.isAvailable, "the kernel has no keyrings, or allows none here (add_key(2), keyctl(2))"),
        .skipped(under: .address, because: MovableClock.sanitizerObstacle),
        .skipped(under: .thread, because: MovableClock.sanitizerObstacle)
    )
    func `an expired cache is kept if a stored password can reacquire its ticket`() async throws {
        try await withTestRealm(users: ["alice": "secret", "bob": "secret"]) { realm in
            let station = try Workstation(realm: realm)
            // All processes of a user share the keyring.
            let name = "user\(UUID().uuidString.lowercased())"
            try await realm.addUser(name, password: "very-secret-word")
            defer { KernelKey.remove("ksso:\(name)@EXAMPLE.TEST") }
            try station.install(profile())
            let clock = try MovableClock(station, movesMonotonic: true)
            let output = try await clock.withAgent {
                let input = "very-secret-word\n"
                #expect(try await station.ksso("login", name, "--remember", "--password-stdin", input: input).exitStatus == 0)
                for name in ["alice", "bob"] {
                    #expect(try await station.run(["ksso", "exec", "--", "kinit", "-l", "1h", name], input: "secret\n").exitStatus == 0)
                }
                try await realm.stopKDC()
                try clock.move(to: "+20d")
                for _ in 1...2 { _ = try await station.ksso("exec", "--", "klist", "-l") }
                let list = try await station.ksso("exec", "--", "klist", "-l").output
                // klist shortens the name.
                #expect(list.contains(name.prefix(20)) && !list.contains("alice@EXAMPLE.TEST"), "\(list)")
            }
            #expect(!output.contains(" of \(name)@EXAMPLE.TEST was removed"), "\(output)")
        }
    }
}
