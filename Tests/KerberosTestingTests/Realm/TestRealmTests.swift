import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "se\"cret pass\\word'$"], services: ["HTTP/localhost"]))
struct TestRealmTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    @Test func `a user signs in and gets a service ticket`() async throws {
        let cache = ["KRB5CCNAME": "FILE:\(realm.directory)/first"]
        let login = try await realm.run("kinit", ["alice"], environment: cache, input: "se\"cret pass\\word'$\n")
        #expect(login.exitStatus == 0, "\(login.errors)")
        let ticket = try await realm.run("kvno", ["HTTP/localhost"], environment: cache)
        #expect(ticket.output == "HTTP/localhost@EXAMPLE.TEST: kvno = 1\n")
        #expect(try realm.log().contains("TGS_REQ"))
    }

    @Test func `kinit with a wrong password costs one attempt`() async throws {
        try await realm.addUser("bob", password: "right")
        #expect(try await realm.failedAttempts(of: "bob") == 0)
        let login = try await realm.run("kinit", ["bob"], environment: ["KRB5CCNAME": "MEMORY:"], input: "wrong\n")
        #expect(login.exitStatus == 1)
        #expect(login.errors.contains("Password incorrect"))
        #expect(try await realm.failedAttempts(of: "bob") == 1)
    }

    @Test(arguments: [
        (["-expire", "yesterday"], "expired"),
        (["-allow_tix"], "revoked"),
    ])
    func `the flags of a new user take effect at the KDC`(flags: [String], message: String) async throws {
        let name = "user-\(flags[0])"
        try await realm.addUser(name, password: "secret", flags: flags)
        let login = try await realm.run("kinit", [name], environment: ["KRB5CCNAME": "MEMORY:"], input: "secret\n")
        #expect(login.errors.contains(message))
    }

    @Test func `a keytab for one principal is written without changing its keys`() async throws {
        try await realm.addService("ldap/localhost")
        let path = try await realm.keytab(for: "ldap/localhost")
        let list = try await realm.run("klist", ["-k", path]).output
        #expect(list.contains("ldap/localhost@EXAMPLE.TEST"))
        #expect(!list.contains("HTTP/localhost"))
        let all = try await realm.run("klist", ["-k", realm.keytabPath]).output
        #expect(all.contains("ldap/localhost@EXAMPLE.TEST") && all.contains("HTTP/localhost@EXAMPLE.TEST"))
        for keytab in [path, realm.keytabPath] {
            let login = try await realm.run(
                "kinit",
                ["-k", "-t", keytab, "ldap/localhost"],
                environment: ["KRB5CCNAME": "MEMORY:"]
            )
            #expect(login.exitStatus == 0, "\(login.errors)")
        }
    }

    @Test func `the folder of a realm is private`() throws {
        let attributes = try FileManager.default.attributesOfItem(atPath: realm.directory)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test func `the environment separates programs from the user's agent`() {
        #expect(realm.environment["KSSO_RUNTIME_DIR"]?.hasPrefix("\(realm.directory)/") == true)
    }

    @Test func `the environment of the test process stays unchanged`() {
        #expect(realm.environment["KRB5_CONFIG"] == realm.configurationPath)
        #expect(ProcessInfo.processInfo.environment["KRB5_CONFIG"] != realm.configurationPath)
    }

    @Test func `an error of kadmin is reported with its message`() async throws {
        let twice = await #expect(throws: KerberosTestingError.self) { try await realm.addUser("alice", password: "again") }
        #expect(twice?.code == .commandFailed)
        #expect(twice?.message.contains("already exists") == true)
        let unknown = await #expect(throws: KerberosTestingError.self) { try await realm.failedAttempts(of: "nobody") }
        #expect(unknown?.message.contains("does not exist") == true)
        let lineBreak = await #expect(throws: KerberosTestingError.self) { try await realm.addUser("eve", password: "a\nb") }
        #expect(lineBreak?.code == .invalidArgument)
    }

    @Test func `a program that does not read its input succeeds`() async throws {
        let result = try await realm.run("true", [], input: String(repeating: "x", count: 1_000_000))
        #expect(result == CommandResult(exitStatus: 0, output: "", errors: ""))
    }
}
