import KerberosTesting
import Testing

/// Realms at an address other than 127.0.0.1.
@Suite struct RealmAddressTests {
    private static let options = TestRealmOptions(
        users: ["alice": "secret"],
        services: ["HTTP/web.test"],
        acceptsPasswordChanges: true,
        address: "127.0.0.2",
        faultProxy: true
    )

    private func expectGreeting(_ url: String, port: Int, in realm: TestRealm) async throws {
        let place = "web.test:\(port):\(realm.address)"
        let reply = try await realm.run("curl", ["-sS", "--resolve", place, "--negotiate", "-u", ":", "\(url)/hello"])
        #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(reply)")
    }

    @Test func `every server of a realm listens at its address`() async throws {
        try await withTestRealm(Self.options) { realm in
            #expect(realm.address == "127.0.0.2" && "\(realm)".contains("at 127.0.0.2:"))
            try await realm.kinit("alice", password: "secret")
            #expect(try realm.network.exchanges.isEmpty == false)
            let changed = try await realm.run("kpasswd", ["alice"], input: "secret\nSecret-2\nSecret-2\n")
            #expect(changed.exitStatus == 0, "\(changed)")
            try await withAcceptorServer(realm: realm, .init(host: "web.test")) { server in
                try await expectGreeting(server.url, port: server.port, in: realm)
            }
            try await withProtectedWebServer(realm: realm, .init(host: "web.test")) { server in
                try await expectGreeting(server.url, port: server.port, in: realm)
            }
        }
    }

    /// The host may be set after the options are created.
    @Test func `the web server's key is that of its host`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            try await realm.kinit("alice", password: "secret")
            var options = ProtectedWebServerOptions()
            options.host = "web.test"
            try await withProtectedWebServer(realm: realm, options) { server in
                try await expectGreeting(server.url, port: server.port, in: realm)
            }
        }
    }

    @Test(arguments: ["localhost", "Web.Test", "127.0.0.2", "web.test:80", "web.test/", "web test", ""])
    func `a host name that cannot lead to the server is rejected`(host: String) async throws {
        try await withTestRealm(.init(services: ["HTTP/web.test"], address: "127.0.0.2")) { realm in
            let errors = [
                await #expect(throws: KerberosTestingError.self) { try await withAcceptorServer(realm: realm, .init(host: host)) { _ in } },
                await #expect(throws: KerberosTestingError.self) {
                    try await withProtectedWebServer(realm: realm, .init(host: host)) { _ in }
                },
                await #expect(throws: KerberosTestingError.self) { try await withKDCProxy(realm: realm, host: host) { _ in } },
            ]
            #expect(errors.allSatisfy { $0?.code == .invalidArgument }, "\(errors)")
        }
    }

    /// 203.0.113.0/24 is reserved for documentation (RFC 5737), so no machine has it.
    @Test(arguments: ["0.0.0.0", "localhost", "::1", "224.0.0.1", "255.255.255.255", "127.255.255.255", "203.0.113.77"])
    func `an address at which no server can listen is rejected`(address: String) async throws {
        for hasProxy in [false, true] {
            let error = await #expect(throws: KerberosTestingError.self) {
                try await withTestRealm(.init(address: address, faultProxy: hasProxy)) { _ in }
            }
            #expect(error?.code == .invalidArgument, "\(String(describing: error))")
        }
    }
}
