import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

/// Delegation of a client's ticket-granting ticket to a server, for which GSSAPI needs a KDC.
///
/// Each client is a separate process because GSSAPI reads `KRB5_CONFIG`.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/plain.example.test", "HTTP/trusted.example.test"]),
    .timeLimit(.minutes(15))
)
struct DelegationTests {
    /// The columns: the requested flag, the host, and whether the ticket is delegated.
    @Test(
        .exitTest,
        arguments: [
            ([], "trusted", false), (.delegation, "plain", true), (.delegation, "trusted", true),
            (.delegationByPolicy, "plain", false), (.delegationByPolicy, "trusted", true),
        ] as [(ContextFlags, String, Bool)]
    )
    func `a ticket is delegated if requested, or by policy if the KDC trusts the service`(
        flag: ContextFlags,
        host: String,
        isDelegated: Bool
    ) async throws {
        let client = try await client(host: host)
        await #expect(processExitsWith: .success) {
            [client = client as DelegatingClient, flag = flag.rawValue as UInt32, isDelegated = isDelegated as Bool] in
            setenv("KRB5_CONFIG", client.settings, 1)  // this closure runs in a process of its own
            let (token, granted) = try await client.firstToken(asking: ContextFlags(rawValue: flag))
            try #require(granted.contains(.delegation) == isDelegated)
            try #require((token.count > 1200) == isDelegated, "a delegated ticket makes the token longer")
            let acceptor = try AcceptorCredential(keytab: client.keytab, replayCache: .disabled)
            try #require(try acceptorEnd(acceptor, token: token).end.flags.contains(.delegation) == isDelegated)
            endChildProcess()
        }
    }

    @Test(.exitTest) func `a ticket that is not forwardable is not delegated, without an error`() async throws {
        let client = try await client(host: "plain", isForwardable: false)
        await #expect(processExitsWith: .success) { [client = client as DelegatingClient] in
            setenv("KRB5_CONFIG", client.settings, 1)
            try #require(try await client.firstToken(asking: .delegation).granted.isDisjoint(with: .delegation))
            endChildProcess()
        }
    }

    @Test(.exitTest) func `no ticket is delegated if the process's krb5.conf has no KDC, without an error`() async throws {
        let client = try await client(host: "plain")
        let empty = try TestRealm.required().writeConfiguration("[libdefaults]\n    dns_lookup_kdc = false\n")
        await #expect(processExitsWith: .success) { [client = client as DelegatingClient, empty = empty as String] in
            setenv("KRB5_CONFIG", empty, 1)
            try #require(try await client.firstToken(asking: .delegation).granted.isDisjoint(with: .delegation))
            endChildProcess()
        }
    }

    /// GSSAPI waits for half a minute, but the call returns at its deadline.
    @Test(.exitTest, .testRealm(users: ["alice": "secret"], services: ["HTTP/plain.example.test"]))
    func `delegation times out at the deadline if the KDC drops packets`() async throws {
        let client = try await client(host: "plain")
        try await TestRealm.required().pauseKDC()
        await #expect(processExitsWith: .success) { [client = client as DelegatingClient] in
            setenv("KRB5_CONFIG", client.settings, 1)
            let start = ContinuousClock.now
            let error = await #expect(throws: KerberosError.self) {
                _ = try await client.firstToken(asking: .delegation, deadline: .milliseconds(300))
            }
            try #require(error?.code == .kdcUnreachable)
            try #require(ContinuousClock.now - start < .seconds(20))
            endChildProcess()
        }
    }

    @Test func `a credential that can delegate is rejected on the caller's thread`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn(options: .init(isForwardable: true))
        #expect(user.ticket.isForwardable)
        let ticket = try await user.serviceTicket(realm.principal("HTTP/plain.example.test"))
        let credential = try await user.client.initiatorCredential(for: ticket, ticketGrantingTicket: user.ticket)
        #expect(credential.canDelegate)
        let error = await expectFailure(.other) { _ = try SPNEGOInitiator.begin(with: credential) }
        #expect(error?.message.contains("KerberosClient") == true)
        #expect(try await !user.initiator(for: realm.principal("HTTP/plain.example.test")).canDelegate)
    }

    @Test(arguments: [("plain", false), ("trusted", true)])
    func `a service ticket shows whether the KDC trusts the service for delegation`(host: String, isTrusted: Bool) async throws {
        let realm = try TestRealm.required()
        try await trust("HTTP/trusted.example.test", realm: realm)
        let ticket = try await realm.signIn().serviceTicket(realm.principal("HTTP/\(host).example.test"))
        #expect(ticket.isForTrustedService == isTrusted)
    }

    private func trust(_ service: String, realm: TestRealm) async throws {
        _ = try await realm.kadmin(["modify_principal", "+ok_as_delegate", service])
    }

    /// Returns the arguments of a client process, with its tickets in a cache.
    private func client(host: String, isForwardable: Bool = true) async throws -> DelegatingClient {
        let realm = try TestRealm.required()
        if host == "trusted" { try await trust("HTTP/trusted.example.test", realm: realm) }
        let user = try await realm.signIn(options: .init(isForwardable: isForwardable))
        _ = try await user.serviceTicket(realm.principal("HTTP/\(host).example.test"))
        return DelegatingClient(
            settings: realm.configurationPath,
            cache: user.cache.rawValue,
            keytab: realm.keytabPath,
            service: "HTTP/\(host).example.test@EXAMPLE.TEST"
        )
    }
}

/// The arguments of a process that acts as a client.
private struct DelegatingClient: Codable, Sendable {
    let settings: String
    let cache: String
    let keytab: String
    let service: String

    func firstToken(asking flag: ContextFlags, deadline: Duration? = nil) async throws -> (token: [UInt8], granted: ContextFlags) {
        let client = KerberosClient(RealmConfiguration(realm: "EXAMPLE.TEST", base: .files([settings])))
        let name = CredentialCacheName(rawValue: cache)
        let ticket = try await client.serviceTicket(for: Principal(service), in: name, cachedOnly: true)
        let own = try await client.contents(of: name).ticketGrantingTicket
        let credential = try await client.initiatorCredential(for: ticket, ticketGrantingTicket: own, from: name)
        let flags: ContextFlags = [.mutualAuthentication, .integrity, flag]
        switch try await client.beginNegotiation(with: credential, flags: flags, deadline: deadline) {
        case .proceed(let token, let initiator): return (token, initiator.granted)
        case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
        }
    }
}
