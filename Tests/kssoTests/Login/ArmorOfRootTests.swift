import Foundation
import Kerberos
import KerberosTesting
import Testing

/// A ticket of the machine, which root owns and every user may read, armors a user's sign-in (FAST, RFC 6113).
@Suite(.enabled(if: geteuid() == 0, "only root can become another user")) struct ArmorOfRootTests {
    /// Signs in as a user other than root, which owns the armor cache.
    private func login(_ station: Workstation, armor: String) async throws -> CommandResult {
        let identity = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
        let command = ["ksso", "login", "alice", "--armor-cache", armor, "--password-stdin"]
        return try await station.run(identity + command, input: "secret\n")
    }

    /// The armor contains a timestamp. The KDC refuses it without the clock offset that the armor cache records.
    @Test(arguments: [0, 3600, -3600]) func `FAST armor uses the KDC's clock as recorded in the armor cache`(seconds: Int) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(seconds), demandsFAST: true)
        try await withTestRealm(options) { realm in
            let station = try Workstation(realm: realm)
            let armor = try await realm.armorCache().rawValue
            try #require(try await station.run(["chown", "-R", "-h", "12345:12345", station.directory]).exitStatus == 0)
            for (path, mode) in [(realm.directory, 0o711), (realm.configurationPath, 0o644), (String(armor.dropFirst(5)), 0o644)] {
                try #require(chmod(path, mode_t(mode)) == 0)
            }
            let login = try await login(station, armor: armor)
            #expect(login.exitStatus == 0 && login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(login)")
        }
    }
}
