import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

@Suite(.enabled(if: hasPlugin(.tls), "krb5-k5tls is missing: Scripts/install-packages unpacks it"))
struct KDCProxyTests {
    private static let options = TestRealmOptions(
        users: ["alice": "secret"],
        services: ["HTTP/localhost"],
        faultProxy: true,
        pluginDirectory: unpackedPlugins
    )

    @Test func `kinit signs in through a KDC proxy`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await withKDCProxy(realm: realm) { proxy in
                let login = try await realm.run("kinit", ["alice"], environment: proxy.environment, input: "secret\n")
                #expect(login.exitStatus == 0, "\(login.errors)")
                #expect(try await realm.run("kvno", ["HTTP/localhost"], environment: proxy.environment).exitStatus == 0)
                #expect(try realm.network.exchanges.steps == .signIn + [[.serviceReply]])
            }
        }
    }

    @Test func `KerberosClient signs in through a KDC proxy`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await withKDCProxy(realm: realm) { proxy in
                let alice = try Principal("alice", defaultRealm: realm.name)
                let client = KerberosClient(proxy.configuration)
                let credential = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
                #expect(credential.client == alice)
                #expect(try realm.network.exchanges.steps == .signIn)
            }
        }
    }

    @Test func `faults of the network reach clients of the proxy`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await withKDCProxy(realm: realm) { proxy in
                try await realm.network.set(.error(.clientRevoked))
                let login = try await realm.run("kinit", ["alice"], environment: proxy.environment, input: "secret\n")
                #expect(login.errors.contains("credentials have been revoked"))
                try await realm.stopKDC()
                try await realm.network.set(.pass)
                let dead = try await realm.run("kinit", ["alice"], environment: proxy.environment, input: "secret\n")
                #expect(dead.exitStatus == 1)
            }
        }
    }

    @Test(arguments: [NetworkFault.blackHole, .pass])
    func `the proxy's scope ends although the KDC does not answer`(fault: NetworkFault) async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.network.set(fault)
            if fault == .pass { try await realm.pauseKDC() }
            let client = try await withKDCProxy(realm: realm) { proxy in
                let client = Task { try await post(proxy, realm) }
                _ = try await realm.network.exchanges(count: 1)
                return client
            }
            #expect(try await client.value.exitStatus != 0)
        }
    }

    @Test func `a client that disconnects leaves no connection to the KDC`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.pauseKDC()
            try await withKDCProxy(realm: realm) { proxy in
                let client = Task { try await post(proxy, realm) }
                #expect(try await realm.network.exchanges(count: 1).count == 1)
                #expect(try queuedConnections(to: realm.network.port) > 0)
                client.cancel()
                _ = await client.result
                // The proxy closes its own connection to the KDC too.
                try await eventually { try queuedConnections(to: realm.network.port) == 0 }
            }
        }
    }

    @Test func `an invalid request to the proxy is rejected`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await withKDCProxy(realm: realm) { proxy in
                for (words, status) in [([], "405"), (["-d", "x"], "400"), (["--path-as-is", "--url-query", "x"], "404")]
                    as [([String], String)]
                {
                    let reply = try await realm.run(
                        "curl",
                        ["-s", "-w", "%{http_code}", "--cacert", proxy.certificatePath] + words + [proxy.url]
                    )
                    #expect(reply.output == status, "\(reply.errors)")
                }
            }
        }
    }
}

/// A KDC proxy without the TLS plugin, which only libkrb5 needs.
@Suite struct KDCProxyWithoutPluginTests {
    @Test func `a KDC proxy serves other clients without libkrb5's plugin`() async throws {
        try await withTestRealm(.init(users: ["alice": "secret"], faultProxy: true)) { realm in
            try await realm.network.set(.error(.clientRevoked))
            try await withKDCProxy(realm: realm) { proxy in
                let reply = try await post(proxy, realm, ["-o", "/dev/null", "-w", "%{http_code} %{content_type}"])
                #expect(reply.output == "200 application/kerberos", "\(reply)")
                #expect(try String(contentsOfFile: proxy.configurationPath, encoding: .utf8).contains("k5tls") == false)
            }
        }
    }
}

/// Posts a `KDC-PROXY-MESSAGE` with a request of which only the first byte is valid.
private func post(_ proxy: KDCProxy, _ realm: TestRealm, _ words: [String] = []) async throws -> CommandResult {
    let message: [UInt8] = [0x30, 0x0A, 0xA0, 0x08, 0x04, 0x06, 0, 0, 0, 2, 0x6A, 0]
    let path = "\(realm.directory)/\(UUID().uuidString)"
    try Data(message).write(to: URL(filePath: path))
    return try await realm.run("curl", ["-s", "--cacert", proxy.certificatePath, "--data-binary", "@\(path)"] + words + [proxy.url])
}
