import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// A keytab whose path is relative to the current directory of the sign-in.
@Suite(.testRealm(users: ["alice": "secret"]))
struct KeytabPathTests {
    @Test(arguments: ["my.keytab", "./my.keytab", "FILE:my.keytab", "../here/my.keytab"])
    func `a keytab given by a relative path works from other directories`(name: String) async throws {
        let station = try Workstation()
        let folder = "\(station.directory)/here"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let keytab = try await station.realm.keytab(for: "alice")
        try FileManager.default.moveItem(atPath: keytab, toPath: "\(folder)/my.keytab")

        let login = "cd '\(folder)' && ksso login --keytab \(name) -q"
        #expect(try await station.run(["sh", "-c", login]) == .done(""))
        let status = try await station.run(["sh", "-c", "cd / && ksso status"])
        #expect(status.output.contains(/with the keytab (FILE:)?\/.*\/my\.keytab/), "\(status)")
        let refresh = try await station.run(["sh", "-c", "cd / && ksso refresh"])
        #expect(refresh.exitStatus == 0, "\(refresh)")
        #expect(refresh.errors == "")
        #expect(try await station.status().sessions.map(\.acquiredBy) == ["keytab"])
    }
}
