import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SystemSupport
import TestSupport
import Testing

/// A server of KCM caches that accepts connections and never answers, such as one that is suspended.
@Suite(.testRealm(users: ["alice": "secret"])) struct SilentCacheServerTests {
    /// A socket at which connections are accepted by the kernel only.
    private final class SilentSocket: Sendable {
        let path: String
        private let descriptor: Int32

        init() throws {
            let path = "/tmp/silent-\(UUID().uuidString.prefix(8))"
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            (self.path, self.descriptor) = (path, descriptor)
            let address = try #require(UnixSocketAddress(path: path))
            try #require(address.lent { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 16) == 0)
        }

        func close() { _ = Glibc.close(descriptor) }

        deinit { unlink(path) }
    }

    @Test func `a cache server that does not answer is reported after 10 seconds, and other caches stay usable`() async throws {
        let realm = try TestRealm.required()
        let socket = try SilentSocket()
        var configuration = realm.configuration(defaultCacheName: "KCM:")
        configuration.libdefaults["kcm_socket"] = socket.path
        let client = KerberosClient(configuration)
        let cache = CredentialCacheName(rawValue: "KCM:\(getuid()):1")
        let message =
            "the server of the credential caches did not answer within 10 seconds. "
            + "Restart it (the agent of ksso, ksso-kcm or sssd-kcm), or set KRB5CCNAME to another cache."

        async let listing = expectFailure(.cacheUnusable) { _ = try await client.cacheNames() }
        async let contents = expectFailure(.cacheUnusable) { _ = try await client.contents(of: cache) }
        async let ticket = expectFailure(.cacheUnusable) {
            _ = try await client.serviceTicket(for: realm.principal("HTTP/www.example.test"), in: cache, cachedOnly: true)
        }
        // Calls to the KDC and on files run meanwhile, and after the other ones have failed.
        let user = try await realm.signIn(client: client)
        #expect(await listing?.description == "KCM:: \(message)")
        #expect(await contents?.description == "\(cache.rawValue): \(message)")
        #expect(await ticket?.message == message)
        #expect(try await client.contents(of: user.cache).principal == user.principal)

        // Without the server's socket, the unfinished call ends, and libkrb5 reports the reason.
        socket.close()
        let isReported = try await comesTrue {
            let error = await expectFailure(.cacheUnusable) { _ = try await client.contents(of: cache) }
            return error?.message.hasPrefix("no server is running for the credential caches") == true
        }
        #expect(isReported)
    }
}
