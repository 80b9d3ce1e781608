import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos

/// A realm's configuration merged with krb5.conf.
@Suite struct RealmConfigurationTests {
    private static let file = """
        [libdefaults]
            default_realm = FILE.TEST
            ticket_lifetime = 1h
            forwardable = true
        [realms]
            A.TEST = {
                kdc = kdc1.a.test
                kdc = kdc2.a.test:1088
                admin_server = admin.a.test
            }
            B.TEST = {
                kdc = kdc.b.test
            }
        [domain_realm]
            .a.test = FILE.TEST
            .b.test = B.TEST
        """

    private func values(_ path: String..., of configuration: RealmConfiguration) throws -> [String] {
        try Context(configuration).values(path)
    }

    private func withFile<Value>(_ text: String = file, _ body: (String) throws -> Value) throws -> Value {
        let path = FileManager.default.temporaryDirectory.appending(path: "kerberos-tests-\(UUID().uuidString).conf").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    @Test func `preferred KDCs precede those of krb5.conf`() throws {
        try withFile { path throws in
            var configuration = RealmConfiguration(realm: "A.TEST", base: .files([path]))
            #expect(try values("realms", "A.TEST", "kdc", of: configuration) == ["kdc1.a.test", "kdc2.a.test:1088"])
            configuration.preferredKDCs = ["near.a.test", "[::1]:88"]
            let all = try values("realms", "A.TEST", "kdc", of: configuration)
            #expect(all == ["near.a.test", "[::1]:88", "kdc1.a.test", "kdc2.a.test:1088"])
            #expect(try values("realms", "B.TEST", "kdc", of: configuration) == ["kdc.b.test"])
            #expect(try values("realms", "A.TEST", "admin_server", of: configuration) == ["admin.a.test"])
        }
    }

    @Test func `the realms of krb5.conf are listed`() throws {
        try withFile { path throws in
            let context = try Context(RealmConfiguration(realm: "A.TEST", preferredKDCs: ["near.a.test"], base: .files([path])))
            #expect(try context.subsections(["realms"]) == ["A.TEST", "B.TEST"])
            #expect(try context.subsections(["capaths"]).isEmpty)
        }
        #expect(try Context(RealmConfiguration(realm: "A.TEST", base: .none)).subsections(["realms"]).isEmpty)
    }

    /// libkrb5 would contact it twice, and wait each time.
    @Test func `a preferred KDC that krb5.conf lists too is listed once`() throws {
        try withFile { path throws in
            let preferred = ["kdc2.a.test:1088", "near.a.test"]
            let configuration = RealmConfiguration(realm: "A.TEST", preferredKDCs: preferred, base: .files([path]))
            let all = try values("realms", "A.TEST", "kdc", of: configuration)
            #expect(all == ["kdc2.a.test:1088", "near.a.test", "kdc1.a.test"])
        }
    }

    /// This test does not show that libkrb5 obeys the relation.
    @Test func `SAM-2 and PKINIT are disabled in addition to what krb5.conf disables`() throws {
        try withFile("[plugins]\n clpreauth = {\n disable = spake\n }\n") { path throws in
            let configuration = RealmConfiguration(realm: "A.TEST", base: .files([path]))
            #expect(try values("plugins", "clpreauth", "disable", of: configuration) == ["sam2", "pkinit", "spake"])
        }
        #expect(try values("plugins", "clpreauth", "disable", of: RealmConfiguration(realm: "A.TEST", base: .none)) == ["sam2", "pkinit"])
    }

    @Test func `KDCs of other realms precede those of krb5.conf`() throws {
        try withFile { path throws in
            let other = ["B.TEST": ["near.b.test"], "C.TEST": [], "A.TEST": ["not.this.one"]]
            let configuration = RealmConfiguration(realm: "A.TEST", preferredKDCs: ["near.a.test"], otherKDCs: other, base: .files([path]))
            #expect(try values("realms", "B.TEST", "kdc", of: configuration) == ["near.b.test", "kdc.b.test"])
            #expect(try values("realms", "C.TEST", "kdc", of: configuration) == [])
            #expect(try values("realms", "A.TEST", "kdc", of: configuration).first == "near.a.test")
        }
    }

    @Test func `domain realms override krb5.conf`() throws {
        try withFile { path throws in
            let configuration = RealmConfiguration(realm: "A.TEST", domainRealms: [".a.test": "A.TEST"], base: .files([path]))
            #expect(try values("domain_realm", ".a.test", of: configuration) == ["A.TEST"])
            #expect(try values("domain_realm", ".b.test", of: configuration) == ["B.TEST"])
            #expect(try values("domain_realm", ".c.test", of: configuration) == [])
        }
    }

    @Test func `libdefaults override krb5.conf`() throws {
        try withFile { path throws in
            let configuration = RealmConfiguration(realm: "A.TEST", libdefaults: ["ticket_lifetime": "2h"], base: .files([path]))
            #expect(try values("libdefaults", "ticket_lifetime", of: configuration) == ["2h"])
            #expect(try values("libdefaults", "forwardable", of: configuration) == ["true"])
            #expect(try values("libdefaults", "default_realm", of: configuration) == ["A.TEST"])
        }
    }

    @Test(arguments: [("", "1"), ("[libdefaults]\nudp_preference_limit = 1465\n", "1465")])
    func `krb5.conf overrides the package's defaults`(text: String, limit: String) throws {
        try withFile(text) { path throws in
            let configuration = RealmConfiguration(realm: "A.TEST", base: .files([path]))
            #expect(try values("libdefaults", "udp_preference_limit", of: configuration) == [limit])
        }
    }

    @Test func `the host of a URL is not rewritten by DNS unless configured`() throws {
        try withFile("[libdefaults]\nrdns = true\ndns_canonicalize_hostname = true\n") { path throws in
            var configuration = RealmConfiguration(realm: "A.TEST", base: .files([path]))
            #expect(try values("libdefaults", "rdns", of: configuration) == ["false"])
            #expect(try values("libdefaults", "dns_canonicalize_hostname", of: configuration) == ["false"])
            configuration.libdefaults["rdns"] = "true"
            #expect(try values("libdefaults", "rdns", of: configuration) == ["true"], "an explicit setting wins")
        }
    }

    @Test(arguments: [.none, .files([]), .files(["/nonexistent/krb5.conf"])] as [RealmConfiguration.Base])
    func `a configuration needs no krb5.conf`(base: RealmConfiguration.Base) async throws {
        let configuration = RealmConfiguration(realm: "A.TEST", preferredKDCs: ["kdc.a.test"], base: base)
        #expect(try values("realms", "A.TEST", "kdc", of: configuration) == ["kdc.a.test"])
        #expect(try await KerberosClient(configuration).defaultRealm() == "A.TEST")
    }

    @Test func `a missing krb5.conf is ignored`() throws {
        try withFile { path throws in
            let configuration = RealmConfiguration(realm: "A.TEST", base: .files(["/nonexistent/krb5.conf", path]))
            #expect(try values("realms", "B.TEST", "kdc", of: configuration) == ["kdc.b.test"])
        }
    }

    @Test func `the configured default cache is used`() async throws {
        let configuration = RealmConfiguration(realm: "A.TEST", base: .none, defaultCacheName: "MEMORY:given")
        #expect(try await KerberosClient(configuration).defaultCacheName().rawValue == "MEMORY:given")
    }

    @Test(arguments: [
        "[libdefaults\n", "[libdefaults]\nnonsense\n", "[realms]\n}\n", "[realms]\nA.TEST = {\nkdc\n}\n", "[libdefaults]\n = x\n",
        "includedir /nonexistent/folder\n", "include /nonexistent/file\n",
    ])
    func `a syntax error in krb5.conf is reported with the file's path`(text: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "kerberos-tests-\(UUID().uuidString).conf").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let client = KerberosClient(RealmConfiguration(realm: "A.TEST", base: .files([path])))
        let error = await expectFailure(.configurationInvalid) { _ = try await client.defaultRealm() }
        #expect(error?.description.contains(path) == true)
        #expect(error?.libraryMessage.isEmpty == false)
    }

    @Test func `a user signs in without any krb5.conf`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let client = KerberosClient(
                RealmConfiguration(
                    realm: realm.name,
                    preferredKDCs: ["127.0.0.1:\(realm.kdcPort)"],
                    libdefaults: ["dns_lookup_kdc": "false"],
                    base: .none
                )
            )
            _ = try await realm.signIn(client: client)
        }
    }

    @Test func `the next KDC is tried if the preferred ones refuse connections`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            var configuration = realm.configuration
            configuration.preferredKDCs = ["127.0.0.1:1", "[::1]:1"]
            _ = try await realm.signIn(client: KerberosClient(configuration))
        }
    }
}
