import Foundation
import Kerberos
import KerberosTesting
import Testing

/// A KDC that accepts a password only with FAST armor.
@Suite struct FASTRealmTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], demandsFAST: true)

    @Test func `kinit signs in with armor if the KDC requires FAST`() async throws {
        try await withTestRealm(Self.options) { realm in
            let armor = try await realm.armorCache()
            let login = try await realm.run("kinit", ["-T", armor.rawValue, "alice"], input: "secret\n")
            #expect(login.exitStatus == 0, "\(login.errors)")
            #expect(try await realm.run("kvno", ["HTTP/localhost"]).exitStatus == 0)
            let wrong = try await realm.run("kinit", ["-T", armor.rawValue, "alice"], input: "wrong\n")
            #expect(wrong.exitStatus == 1)
            #expect(try await realm.failedAttempts(of: "alice") == 1)
        }
    }

    @Test(arguments: SignInProgram.allCases)
    func `a KDC that requires FAST issues no ticket without armor`(program: SignInProgram) async throws {
        try await withTestRealm(Self.options) { realm in
            let failure = try #require(try await program.signIn(realm))
            #expect(failure.lowercased().contains("preauth"), "\(failure)")
            #expect(try await realm.failedAttempts(of: "alice") == 0)
        }
    }

    @Test func `a KDC that does not require FAST accepts armor`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let armor = try await realm.armorCache()
            #expect(try await realm.run("kinit", ["-T", armor.rawValue, "alice"], input: "secret\n").exitStatus == 0)
            #expect(try await SignInProgram.library.signsIn(realm))
        }
    }
}
