import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// MIT's KDC as it comes.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct InteroperabilityMITTests {
    @Test("MIT KDC", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        #expect(try await cell.greeting(of: realm, password: "secret") == "Hello alice@EXAMPLE.TEST\n")
    }
}

/// A KDC that takes a password only in armor.
@Suite(.testRealm(TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], demandsFAST: true)))
struct InteroperabilityFASTTests {
    @Test("KDC that demands FAST", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        let greeting = try await cell.greeting(of: realm, password: "secret", settings: "ArmorCache: \(realm.armorCache())")
        #expect(greeting == "Hello alice@EXAMPLE.TEST\n")
    }

    /// The armor of the other tests is not there in vain.
    @Test func `without armor nobody signs in`() async throws {
        let station = try Workstation()
        try station.install(profile())
        let login = try await station.ksso("login", "alice", "--password-stdin", "--quiet", input: "secret\n")
        #expect(login.exitStatus != 0 && login.errors.contains("--armor-cache"), "\(login)")
    }
}

/// Active Directory: the domain that the folder in `INTEROP_AD` describes, as the documentation's page on interoperability says.
@Suite(.enabled(if: ActiveDirectoryTrait.folder != nil, "INTEROP_AD names no folder that describes a domain"), .activeDirectory)
struct InteroperabilityADTests {
    @Test("Samba AD", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        let greeting = try await cell.greeting(of: realm, password: try ActiveDirectoryTrait.password())
        #expect(greeting == "Hello alice@\(realm.name)\n")
    }
}
