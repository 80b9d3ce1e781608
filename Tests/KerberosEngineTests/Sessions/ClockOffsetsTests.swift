import Kerberos
import KerberosTesting
import TestSupport
import Testing

@testable import KerberosEngine

/// The correction of stored clock offsets in caches that other programs use as well.
@Suite struct ClockOffsetsTests {
    /// The step by which a clock is corrected that was an hour behind.
    private func step() throws -> ClockWatch.Step {
        let clock = ManualClock()
        let watch = ClockWatch(wall: { clock.now }, uptime: { 0 })
        clock.advance(by: 3600)
        return try #require(watch.step)
    }

    /// The cache changes between the listing of its session and the correction.
    @Test(arguments: ["alice", "bob", nil])
    func `a correction does not write to a cache in which someone has signed in or out since`(next: String?) async throws {
        let options = TestRealmOptions(users: ["alice": "secret", "bob": "secret"], clockOffset: .seconds(3600))
        try await withTestRealm(options) { realm in
            let home = try CacheHome(realm)
            let kerberos = home.makeExtension()
            let session = try await kerberos.signIn("alice", using: .secret)
            if let next { try await home.kinit(next) } else { _ = try await home.run("kdestroy", []) }
            let step = try step()
            #expect(await kerberos.offsets.correct(session, after: step) == false)
            let sessions = try await kerberos.sessions().sessions
            #expect(sessions.map(\.principal.description) == (next.map { ["\($0)@EXAMPLE.TEST"] } ?? []))
            #expect(sessions.allSatisfy { $0.clockOffset > 3000 })
        }
    }
}
