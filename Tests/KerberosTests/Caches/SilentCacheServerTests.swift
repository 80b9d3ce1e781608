import Foundation
import KCM
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SystemSupport
import TestSupport
import Testing

/// A server of KCM caches that accepts connections and never answers, such as one that is suspended.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct SilentCacheServerTests {
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

    /// What a client gets from the KDC with a cache's ticket-granting ticket.
    enum Demand: CaseIterable, Sendable {
        case serviceTicket, replacement, renewal

        /// - Parameter deadline: How long to wait for the KDC. If the cache server is silent, it is shorter than the limit for cache
        ///   servers, so that a call that waits for that server on the KDC's time fails the test.
        @discardableResult func make(_ user: SignedIn, within deadline: Duration = .seconds(60)) async throws -> Credential {
            let service = try TestRealm.required().principal("HTTP/www.example.test")
            return switch self {
            case .serviceTicket: try await user.client.serviceTicket(for: service, in: user.cache, deadline: deadline)
            case .replacement: try await user.client.replaceServiceTicket(for: service, in: user.cache, deadline: deadline) { _ in true }
            case .renewal: try await user.client.renewedCredential(for: user.principal, in: user.cache, deadline: deadline)
            }
        }
    }

    /// Signs in, with the ticket in a cache of the relay.
    private func signIn(_ relay: CacheServerRelay) async throws -> SignedIn {
        let realm = try TestRealm.required()
        let cache = CredentialCacheName(rawValue: "KCM:\(getuid()):1")
        return try await realm.signIn(client: relay.client(realm), cache: cache, options: Self.renewable)
    }

    private static let renewable = InitialCredentialOptions(renewableLifetime: .seconds(36_000))

    private func expectSilence(_ body: () async throws -> Void) async {
        let error = await expectFailure(.cacheUnusable) { try await body() }
        #expect(error?.message.hasPrefix("the server of the credential caches did not answer") == true, "\(error as Any)")
    }

    /// One more than the abandoned calls that block requests to the KDC.
    private static let attempts = 5

    @Test(arguments: Demand.allCases)
    func `a silent cache server is not reported as an unreachable KDC, and blocks no requests`(demand: Demand) async throws {
        try await CacheServerRelay.run { relay in
            let user = try await signIn(relay)
            try await demand.make(user)
            relay.stopAnswering(at: .principal)
            for _ in 0..<Self.attempts { await expectSilence { try await demand.make(user, within: .seconds(5)) } }
            #expect(relay.isSilent)
            try await demand.make(TestRealm.required().signIn(client: user.client, options: Self.renewable))
        }
    }

    @Test func `a service ticket is returned even if the cache server stops answering before it is stored`() async throws {
        try await CacheServerRelay.run { relay in
            let user = try await signIn(relay)
            relay.stopAnswering(at: .store)
            let ticket = try await Demand.serviceTicket.make(user, within: .seconds(9))
            #expect(try ticket.server == TestRealm.required().principal("HTTP/www.example.test"))
            #expect(relay.isSilent)
            await expectSilence { _ = try await user.client.initiatorCredential(for: ticket, from: user.cache) }
            try await Demand.serviceTicket.make(TestRealm.required().signIn(client: user.client))
        }
    }

    @Test func `a service ticket that replaces another one must be stored`() async throws {
        try await CacheServerRelay.run { relay in
            let user = try await signIn(relay)
            try await Demand.serviceTicket.make(user)
            relay.stopAnswering(at: .store)
            await expectSilence { try await Demand.replacement.make(user, within: .seconds(9)) }
            #expect(relay.isSilent)
            try await Demand.replacement.make(TestRealm.required().signIn(client: user.client))
        }
    }

    @Test func `a sign-in reports the silent server of its armor cache`() async throws {
        let realm = try TestRealm.required()
        try await CacheServerRelay.run { relay in
            let client = relay.client(realm)
            let armor = try await client.contents(of: realm.armorCache())
            let cache = CredentialCacheName(rawValue: "KCM:\(getuid()):armor")
            try await client.replace(cache, principal: armor.principal, credentials: armor.credentials + armor.notes, marks: armor.marks)
            let armored = relay.client(realm, armor: cache)
            let user = try await realm.signIn(client: armored)
            relay.stopAnswering(at: .principal)
            for _ in 0..<Self.attempts { await expectSilence { _ = try await realm.signIn(client: armored) } }
            await expectSilence {
                _ = try await armored.passwordChangeCredential(for: user.principal, using: .password(Secret("secret")))
            }
            try await Demand.serviceTicket.make(user)
        }
    }
}
