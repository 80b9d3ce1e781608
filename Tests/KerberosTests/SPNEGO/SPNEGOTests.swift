import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct SPNEGOTests {
    private func ends() async throws -> (credential: InitiatorCredential, acceptor: AcceptorCredential) {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
        return (credential, try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    }

    @Test func `client and server authenticate each other`() async throws {
        let (credential, acceptor) = try await ends()
        let (client, server) = try establish(credential, acceptor)
        for end in [client, server] {
            #expect(end.initiator == "alice@EXAMPLE.TEST")
            #expect(end.acceptor == "HTTP/www.example.test@EXAMPLE.TEST")
            #expect(end.flags.isSuperset(of: [.mutualAuthentication, .integrity]))
            #expect(!end.flags.contains(.delegation))
            #expect(end.remainingSeconds > 0)
        }
    }

    /// As with a slow server.
    @Test func `a server's reply is valid even if the ticket has expired meanwhile`() async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"], ticketLifetime: .seconds(15))
        try await withTestRealm(options) { realm in
            let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            switch try SPNEGOInitiator.begin(with: credential) {
            case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
            case .proceed(let token, let initiator):
                let (answer, server) = try acceptorEnd(acceptor, token: token)
                #expect(server.remainingSeconds > 0)
                // libkrb5 reads the system's clock, so that only a real ticket can expire. After a second, it returns a negative number.
                try await Task.sleep(for: .seconds(max(0, credential.times.expires.timeIntervalSinceNow + 2)))
                #expect(try end(initiator.step(answer)).remainingSeconds == 0)
            }
        }
    }

    @Test(
        arguments: [
            [.mutualAuthentication], [.mutualAuthentication, .integrity], [.mutualAuthentication, .integrity, .replayDetection],
        ] as [ContextFlags]
    )
    func `requested context flags are granted`(flags: ContextFlags) async throws {
        let (credential, acceptor) = try await ends()
        #expect(try establish(credential, acceptor, flags: flags).client.flags.isSuperset(of: flags))
    }

    @Test func `an initiator credential has the names and times of its ticket`() async throws {
        let (credential, _) = try await ends()
        #expect(credential.client.description == "alice@EXAMPLE.TEST")
        #expect(credential.server.description == "HTTP/www.example.test@EXAMPLE.TEST")
        #expect(credential.times.expires > credential.times.starts)
    }

    /// No flag is granted unless requested, so a user's ticket is never delegated by default (CVE-2011-2192).
    @Test func `the default flags delegate nothing`() async throws {
        let (credential, acceptor) = try await ends()
        let (client, server) = try establish(credential, acceptor)
        for end in [client, server] { #expect(end.flags.isDisjoint(with: [.delegation, .delegationByPolicy])) }
    }

    @Test(arguments: [.delegation, .delegationByPolicy] as [ContextFlags])
    func `delegation that is not granted is missing from the flags, without an error`(flag: ContextFlags) async throws {
        let (credential, acceptor) = try await ends()
        let (client, server) = try establish(credential, acceptor, flags: [.mutualAuthentication, .integrity, flag])
        for end in [client, server] { #expect(end.flags.isDisjoint(with: [.delegation, .delegationByPolicy])) }
    }

    /// GSSAPI establishes a context even if a requested flag is not granted. Here Kerberos does not grant an anonymous client.
    @Test func `a requested flag that is not granted is an error`() async throws {
        let (credential, acceptor) = try await ends()
        let anonymous = ContextFlags(rawValue: 0x40)
        let error = await expectFailure(.flagsNotGranted) {
            _ = try establish(credential, acceptor, flags: [.mutualAuthentication, .integrity, anonymous])
        }
        #expect(error?.message.contains("flag 0x40 is missing") == true)
    }

    /// libkrb5's SPNEGO waits for the acceptor's reply even without mutual authentication.
    @Test func `without mutual authentication the server is not authenticated`() async throws {
        let (credential, acceptor) = try await ends()
        let (client, server) = try establish(credential, acceptor, flags: [.integrity])
        for end in [client, server] { #expect(!end.flags.contains(.mutualAuthentication)) }
        #expect(client.acceptor == "HTTP/www.example.test@EXAMPLE.TEST")
    }

    @Test func `tokens are created and accepted without a KDC`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
            try await realm.stopKDC()
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            #expect(try establish(credential, acceptor).server.initiator == "alice@EXAMPLE.TEST")
        }
    }

    @Test func `many threads create tokens from one credential`() async throws {
        let (credential, acceptor) = try await ends()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask { try (0..<25).map { _ in try establish(credential, acceptor).server.initiator }.count }
            }
            let count = try await group.reduce(0, +)
            #expect(count == 400)
        }
    }

    /// With the replay cache, to which each call writes.
    @Test func `many tasks accept tokens at once`() async throws {
        let (credential, _) = try await ends()
        let acceptor = try AcceptorCredential(keytab: TestRealm.required().keytabPath)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    let token = try firstToken(from: credential)
                    switch try await acceptor.accept(token) {
                    case .proceed: throw UnexpectedStep(text: "the server requires a second round trip")
                    case .established(_, let context): return context.initiator
                    }
                }
            }
            var initiators: [String] = []
            for try await initiator in group { initiators.append(initiator) }
            #expect(initiators == Array(repeating: "alice@EXAMPLE.TEST", count: 64))
        }
    }

    @Test func `many credentials are created and released concurrently`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let ticket = try await user.serviceTicket(realm.principal("HTTP/www.example.test"))
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        let others = [realm.client, realm.client, user.client]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                let client = others[number % others.count]
                group.addTask { _ = try establish(try await client.initiatorCredential(for: ticket), acceptor) }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a service rejects a token made from the ticket-granting ticket`() async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let credential = try await user.client.initiatorCredential(for: user.ticket)
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        #expect(throws: KerberosError.self) { _ = try establish(credential, acceptor) }
    }

    @Test func `an acceptor without the service's key rejects the token`() async throws {
        let (credential, _) = try await ends()
        try await withTestRealm(users: [:], services: ["HTTP/www.example.test"]) { other in
            let acceptor = try AcceptorCredential(keytab: other.keytabPath, replayCache: .disabled)
            #expect(throws: KerberosError.self) { _ = try establish(credential, acceptor) }
        }
    }
}

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct ChannelBindingTests {
    private static let one = ChannelBindings(applicationData: Array("tls-server-end-point:one".utf8))
    private static let two = ChannelBindings(applicationData: Array("tls-server-end-point:two".utf8))

    /// The last column: whether the server's context is channel-bound.
    @Test(arguments: [(nil, nil, false), (one, nil, false), (one, one, true), (nil, one, false), (two, two, true)])
    func `equal or one-sided channel bindings are accepted`(client: ChannelBindings?, server: ChannelBindings?, isBound: Bool) async throws
    {
        let (credential, acceptor) = try await ends()
        let result = try establish(credential, acceptor, clientBindings: client, serverBindings: server)
        #expect(result.server.flags.contains(.channelBound) == isBound)
        #expect(!result.client.flags.contains(.channelBound))
    }

    @Test(arguments: [(one, two), (two, one), (one, ChannelBindings(applicationData: []))])
    func `different channel bindings are rejected`(client: ChannelBindings, server: ChannelBindings) async throws {
        let (credential, acceptor) = try await ends()
        let error = await expectFailure(.channelBindingsDiffer) {
            _ = try establish(credential, acceptor, clientBindings: client, serverBindings: server)
        }
        #expect(error?.message.contains("Check for a proxy between") == true)
    }

    private func ends() async throws -> (credential: InitiatorCredential, acceptor: AcceptorCredential) {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
        return (credential, try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    }
}
