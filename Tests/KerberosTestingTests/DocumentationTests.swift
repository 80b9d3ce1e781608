import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import Testing

/// The code of the guides in KerberosTesting.docc and KerberosTestingTraits.docc, identical except for the imports.
@Suite struct DocumentationTests {
    @Test func `accounts, policies and keys can be changed while a realm runs`() async throws {
        let options = TestRealmOptions(
            services: ["HTTP/localhost"],
            principals: [
                TestPrincipal("bob", password: "Secret-1234", ticketLifetime: .seconds(60), policy: "strict"),
                TestPrincipal("carol", password: "secret", attributes: [.locked]),
                TestPrincipal("dave", password: "secret", passwordExpires: .past, encryptionTypes: [.aes128]),
            ],
            policies: [PasswordPolicy("strict", minimumLength: 8, minimumClasses: 3, maximumFailures: 3)]
        )
        try await withTestRealm(options) { realm in
            try await realm.unlock("carol")
            try await realm.kinit("carol", password: "secret")
            try await realm.expirePassword(of: "carol")
            let version = try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: true)
            #expect(version == 2)
        }
    }

    @Test func `kvno reaches a service through two trusts`() async throws {
        let names = ["A.TEST", "B.TEST", "C.TEST"]
        let options = names.map { TestRealmOptions(name: $0, users: ["alice": "secret"], services: ["HTTP/web.\($0.lowercased())"]) }
        let trusts: [RealmTrust] = [.twoWay("A.TEST", "B.TEST"), .oneWay(from: "B.TEST", to: "C.TEST")]
        try await withTestRealms(options, trusts: trusts) { realms in
            try await realms[0].kinit("alice", password: "secret")
            try await realms[0].kvno("web.c.test", options: ["-S", "HTTP"])  // by way of B.TEST
        }
    }

    @Test func `the second KDC answers after the first is killed`() async throws {
        try await withTestRealm(.init(users: ["alice": "secret"], kdcCount: 2)) { realm in
            try await realm.killKDC(0)
            try await realm.kinit("alice", password: "secret")  // the second one answers
            #expect(try realm.log(ofKDC: 1).contains("alice@EXAMPLE.TEST"))
        }
    }

    @Test func `programs run in a realm whose KDC clock can be changed`() async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"])
        try await withTestRealm(options) { realm in
            try await realm.kinit("alice", password: "secret")
            #expect(try await realm.kvno("HTTP/localhost") == 1)
            #expect(try await realm.klist().credentials.count == 2)
            #expect(try realm.trace().contains("alice@EXAMPLE.TEST"))
            try await realm.setKDCClock(offset: .seconds(-3600))
            let client = realm.makeClient(clockOffset: .seconds(3600))
            _ = try await client.initialCredential(for: Principal("alice@EXAMPLE.TEST"), using: .password(Secret("secret")))
        }
    }

    @Test func `kinit repeats a lost request`() async throws {
        try await withTestRealm(.init(users: ["alice": "secret"], faultProxy: true)) { realm in
            let network = try realm.network
            try await network.set(.drop, on: .udp, for: .next(1))
            let login = try await realm.run("kinit", ["alice"], input: "secret\n")
            #expect(login.exitStatus == 0)
            #expect(network.exchanges.count { $0.fault == .drop && $0.reply == nil } == 1)
            #expect(network.exchanges.contains { $0.reply == .error } && network.exchanges.contains { $0.reply == .initialReply })
        }
    }

    @Test func `the acceptor server greets alice`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let options = AcceptorServerOptions { request in
                request.path == "/busy" ? .status(503, fields: ["Retry-After": "1"]) : .negotiated
            }
            try await withAcceptorServer(realm: realm, options) { server in
                _ = try await realm.run("kinit", ["alice"], input: "secret\n")
                let reply = try await realm.run("curl", ["-s", "--negotiate", "-u", ":", "\(server.url)/"])
                #expect(reply.output == "Hello alice@EXAMPLE.TEST\n")
                #expect(server.requests.last?.initiator == "alice@EXAMPLE.TEST")
            }
        }
    }

    @Test func `alice signs in with armor`() async throws {
        try await withTestRealm(.init(users: ["alice": "secret"], demandsFAST: true)) { realm in
            let armor = try await realm.armorCache()
            let login = try await realm.run("kinit", ["-T", armor.rawValue, "alice"], input: "secret\n")
            #expect(login.exitStatus == 0)
            // In this process.
            var configuration = realm.configuration
            configuration.armorCache = armor
            let alice = try Principal("alice", defaultRealm: realm.name)
            let ticket = try await realm.makeClient(configuration).initialCredential(for: alice, using: .password(Secret("secret")))
            #expect(ticket.client == alice)
        }
    }

    @Test func `the server's channel bindings are those of its certificate`() async throws {
        try await withTestRealm(.init(services: ["HTTP/localhost"])) { realm in
            let identity = try await realm.makeServerIdentity()
            let options = AcceptorServerOptions(identity: identity, channelBindings: .required(try identity.channelBindings()))
            try await withAcceptorServer(realm: realm, options) { #expect($0.url.hasPrefix("https:")) }
        }
    }

    @Test func `Apache greets alice`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            _ = try await realm.run("kinit", ["alice"], input: "secret\n")
            try await withProtectedWebServer(realm: realm) { server in
                let reply = try await realm.run("curl", ["-s", "--negotiate", "-u", ":", "\(server.url)/hello"])
                #expect(reply.output == "Hello alice@EXAMPLE.TEST\n")
            }
        }
    }

    @Suite(.enabled(if: LibraryPlugin.pkinit.isInstalled, "krb5-pkinit is not installed")) struct Certificates {
        @Test func `alice signs in with a certificate`() async throws {
            try await withTestRealm(.init(users: ["alice": "secret"], acceptsCertificates: true)) { realm in
                let own = try await realm.certificate(for: "alice")
                let login = try await realm.run("kinit", ["-X", "X509_user_identity=\(own.identity)", "alice"])
                #expect(login.exitStatus == 0)
            }
        }
    }

    @Suite(.enabled(if: hasPlugin(.tls), "krb5-k5tls is missing: Scripts/install-packages unpacks it")) struct HTTPS {
        @Test func `a KDC proxy forwards messages`() async throws {
            try await withTestRealm(.init(users: ["alice": "secret"], pluginDirectory: unpackedPlugins)) { realm in
                try await withKDCProxy(realm: realm) { proxy in
                    let login = try await realm.run("kinit", ["alice"], environment: proxy.environment, input: "secret\n")
                    #expect(login.exitStatus == 0)
                }
            }
        }
    }

    @Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
    struct SignInTests {
        @Test func `alice gets a service ticket`() async throws {
            let realm = try #require(TestRealm.current)
            try await realm.kinit("alice", password: "secret")
            #expect(try await realm.kvno("HTTP/localhost") == 1)
        }
    }

    @Test(arguments: [
        ("KerberosTesting", 1), ("PrincipalsAndKeys", 1), ("SeveralRealms", 2), ("ClocksAndPrograms", 1), ("Faults", 1), ("WebServers", 2),
        ("CertificatesAndFAST", 3), ("KerberosTestingTraits", 1),
    ])
    func `every code block of the guides is in this file`(guide: String, count: Int) throws {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let target = guide == "KerberosTestingTraits" ? guide : "KerberosTesting"
        let page = try String(contentsOf: root.appending(path: "Sources/\(target)/\(target).docc/\(guide).md"), encoding: .utf8)
        let own = try lines(String(contentsOf: here, encoding: .utf8))
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
        #expect(blocks.count == count)
        for block in blocks { #expect(own.contains(lines(block))) }
    }

    private func lines(_ text: String) -> String {
        text.split(separator: "\n").filter { !$0.hasPrefix("import ") }.map { $0.trimmingCharacters(in: .whitespaces) }.joined(
            separator: "\n"
        )
    }
}
