import ActiveDirectory
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import Testing

/// Servers that are found where a controller should be, with a ticket of a real KDC.
@Suite(.testRealm(users: ["alice": "secret"], services: ["ldap/127.0.0.1/example.test"])) struct DirectoryFaultTests {
    /// The error of reading alice's account at a port of this machine.
    private func failure(port: UInt16, requiresTLS: Bool = false) async throws -> DirectoryError? {
        let realm = try #require(TestRealm.current)
        let client = KerberosClient(realm.configuration)
        let alice = try Principal("alice@EXAMPLE.TEST")
        let cache = try await client.newCacheName(type: "MEMORY")
        try await client.replace(
            cache,
            principal: alice,
            credentials: [try await client.initialCredential(for: alice, using: .password(Secret("secret")))]
        )
        var options = DomainDirectory.Options()
        options.port = port
        options.limit = .milliseconds(300)
        options.requiresTLS = requiresTLS
        let directory = DomainDirectory(realm: "EXAMPLE.TEST", controllers: ["127.0.0.1"], options: options)
        do throws(DirectoryError) {
            _ = try await directory.record(of: alice, using: client, cache: cache)
            return nil
        } catch {
            return error
        }
    }

    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"), arguments: FaultyController.Fault.allCases, [false, true])
    func `a server that is no controller is reported, and does no harm`(fault: FaultyController.Fault, requiresTLS: Bool) async throws {
        let server = try FaultyController(fault)
        defer { server.stop() }
        let error = try #require(try await failure(port: server.port, requiresTLS: requiresTLS))
        #expect([.unreachable, .other, .refused, .tlsFailed].contains(error.code), "\(error)")
        #expect(error.subject == "127.0.0.1" && error.message.hasSuffix("."), "\(error)")
        #expect(error.message.count < 600, "\(error)")
    }

    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"))
    func `a closed port is reported`() async throws {
        let server = try FaultyController(.silent)
        server.stop()
        let error = try #require(try await failure(port: server.port))
        #expect(error.code == .unreachable, "\(error)")
    }
}
