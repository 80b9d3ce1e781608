import Foundation
import Kerberos
import KerberosTesting
import Testing

/// Every fault that the network can inject, with kinit and with ``KerberosClient``.
@Suite struct KDCNetworkTests {
    /// Runs the body with a realm whose clients try this transport first.
    private func withRealm(
        _ transport: NetworkTransports = .udp,
        _ body: (TestRealm, KDCNetwork) async throws -> Void
    ) async throws {
        let relations = transport == .tcp ? ["udp_preference_limit": "1"] : [:]
        try await withTestRealm(.init(users: ["alice": "secret"], clientRelations: relations, faultProxy: true)) { realm in
            try await body(realm, realm.network)
        }
    }

    private static let transports: [NetworkTransports] = [.udp, .tcp]
    /// The transports that the programs try first; the library tries UDP last.
    private static let beginners: [(NetworkTransports, SignInProgram)] = [(.udp, .kinit), (.tcp, .kinit), (.tcp, .library)]

    @Test(arguments: beginners)
    func `all messages pass if no fault is set`(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            #expect(network.exchanges.isEmpty)
            let failure = try await program.signIn(realm)
            #expect(failure == nil)
            let exchanges = network.exchanges
            #expect(exchanges.steps == .signIn)
            #expect(exchanges.first?.transport == transport)
            #expect(exchanges.allSatisfy { $0.request == .initialRequest && $0.fault == .pass })
            #expect(exchanges.allSatisfy { $0.requestSize > 100 && ($0.reply == nil || $0.replySize > 100) })
        }
    }

    @Test(arguments: transports, SignInProgram.allCases)
    func `clients use the only transport that is allowed`(transport: NetworkTransports, program: SignInProgram) async throws {
        // Clients try the other one first, and find its port closed.
        try await withRealm(transport == .udp ? .tcp : .udp) { realm, network in
            try await network.allowOnly(transport)
            #expect(try await program.signsIn(realm))
            #expect(Set(network.exchanges.map(\.transport)) == [transport])
            try await network.allowOnly(.both)
            let count = network.exchanges.count
            #expect(try await program.signsIn(realm))
            let first = program == .library ? .tcp : transport == .udp ? NetworkTransports.tcp : .udp
            #expect(network.exchanges.dropFirst(count).first?.transport == first)
        }
    }

    @Test(arguments: beginners)
    func `a sign-in fails while all ports are closed`(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            for _ in 1...2 {
                try await network.set(.refuse)
                let failure = try #require(try await program.signIn(realm))
                #expect(failure.contains("Cannot contact any KDC"))
                #expect(network.exchanges.isEmpty)
            }
            try await network.set(.pass)
            #expect(try await program.signsIn(realm))
            #expect(network.exchanges.first?.transport == transport)
        }
    }

    @Test(arguments: beginners)
    func `a client repeats a request that was dropped`(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            let log = try realm.log()
            try await network.set(.drop, on: transport, for: .next(1))
            #expect(try await program.signsIn(realm))
            expectOne(.drop, over: transport, of: network)
            #expect(network.exchanges.steps == .signIn)
            #expect(try requests(realm, since: log) == 2)
        }
    }

    @Test(arguments: transports)
    func `the KDC recognizes a request that is repeated after a lost reply`(transport: NetworkTransports) async throws {
        try await withRealm(transport) { realm, network in
            let log = try realm.log()
            try await network.set(.drop(.reply), on: transport, for: .next(1))
            #expect(try await SignInProgram.kinit.signsIn(realm))
            expectOne(.drop(.reply), over: transport, of: network)
            #expect(network.exchanges.steps == .signIn)
            #expect(try realm.log().dropFirst(log.count).contains("repeated (retransmitted?) request"))
            #expect(try requests(realm, since: log) == 2)
        }
    }

    @Test(arguments: transports)
    func `a black hole accepts requests and never answers`(transport: NetworkTransports) async throws {
        try await withRealm(transport) { realm, network in
            let log = try realm.log()
            try await network.set(.blackHole)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await SignInProgram.kinit.signIn(realm) }
                let first = try await network.exchanges(count: 1).first
                #expect(first?.request == .initialRequest)
                group.cancelAll()
            }
            await #expect(throws: KerberosError.self) {
                try await SignInProgram.library.initialCredential(realm, options: .init(deadline: .milliseconds(100)))
            }
            #expect(network.exchanges.allSatisfy { $0.reply == nil && $0.fault == .blackHole })
            #expect(try requests(realm, since: log) == 0)
        }
    }

    @Test(arguments: transports, [NetworkFault.Direction.request, .reply])
    func `other messages overtake a delayed one`(transport: NetworkTransports, direction: NetworkFault.Direction) async throws {
        try await withRealm(transport) { realm, network in
            try await network.set(.delay(.milliseconds(20), direction))
            #expect(try await SignInProgram.kinit.signsIn(realm))
            #expect(network.exchanges.steps == .signIn)
            let long = NetworkFault.delay(.seconds(3600), direction)
            try await network.set(long, on: transport)
            let count = network.exchanges.count
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await SignInProgram.kinit.signIn(realm) }
                _ = try await network.exchanges(count: count + 1)
                try await network.set(.pass)
                #expect(try await SignInProgram.kinit.signsIn(realm))
                group.cancelAll()
            }
            let held = network.exchanges.filter { $0.fault == long }
            #expect(!held.isEmpty && held.allSatisfy { $0.reply == nil })
            let others = network.exchanges.dropFirst(count).filter { $0.fault == .pass }
            #expect(others.contains { $0.reply == .initialReply })
        }
    }

    @Test(arguments: beginners)
    func `a client rejects a corrupted reply`(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            try await network.set(.corrupt)
            let failure = try await program.signIn(realm)
            #expect(failure != nil)
            #expect(network.exchanges.allSatisfy { $0.fault == .corrupt && ($0.reply == nil || $0.replySize > 100) })
            #expect(network.exchanges.contains { $0.reply != nil })
            try await network.set(.pass)
            #expect(try await program.signsIn(realm))
        }
    }

    @Test(arguments: [NetworkFault.corrupt(.request), .truncate(to: 20, .request)])
    func `the KDC does not answer a corrupted or truncated request`(fault: NetworkFault) async throws {
        for transport in Self.transports {
            try await withRealm(transport) { realm, network in
                let log = try realm.log()
                try await network.set(fault, on: transport, for: .next(1))
                #expect(try await SignInProgram.kinit.signsIn(realm))
                expectOne(fault, over: transport, of: network)
                #expect(network.exchanges.steps == .signIn)
                #expect(try requests(realm, since: log) == 2)
            }
        }
    }

    @Test(arguments: SignInProgram.allCases)
    func `a client rejects a truncated datagram`(program: SignInProgram) async throws {
        try await withRealm { realm, network in
            try await network.allowOnly(.udp)
            try await network.set(.truncate(to: 20), on: .udp)
            #expect(try await !program.signsIn(realm))
            #expect(network.exchanges.allSatisfy { $0.transport == .udp && ($0.reply == nil || $0.replySize == 20) })
            #expect(network.exchanges.contains { $0.reply != nil })
        }
    }

    @Test(arguments: SignInProgram.allCases)
    func `a client uses UDP if the TCP reply is truncated`(program: SignInProgram) async throws {
        try await withRealm(.tcp) { realm, network in
            try await network.set(.truncate(to: 20), on: .tcp)
            #expect(try await program.signsIn(realm))
            // Each request had to be repeated over UDP.
            #expect(network.exchanges.filter { $0.transport == .udp }.steps == .signIn)
            let cut = network.exchanges.filter { $0.transport == .tcp }
            #expect(!cut.isEmpty && cut.allSatisfy { $0.reply == nil || $0.replySize == 20 })
        }
    }

    @Test func `a client repeats a request over TCP if the reply is too big for a datagram`() async throws {
        try await withRealm { realm, network in
            try await network.set(.replyTooBig)
            #expect(try await SignInProgram.kinit.signsIn(realm))
            let datagrams = network.exchanges.filter { $0.transport == .udp }
            #expect(!datagrams.isEmpty && datagrams.allSatisfy { $0.reply == .error })
            #expect(network.exchanges.filter { $0.transport == .tcp }.steps == .signIn)
        }
    }

    @Test(arguments: [
        (KDCErrorCode.unknownClient, "not found in Kerberos database", KerberosError.Code.unknownPrincipal),
        (.clientRevoked, "credentials have been revoked", .accountLocked),
        (.keyExpired, "Password has expired", .passwordExpired),
        (.policy, "KDC policy rejects request", .policyRefused),
        (.unsupportedEncryptionType, "no support for encryption type", .encryptionTypeRefused),
        (.clockSkew, "Clock skew too great", .clockSkew),
        (60, "Generic error", .other),
    ])
    func `an injected KDC error reaches the client`(code: KDCErrorCode, text: String, error: KerberosError.Code) async throws {
        try await withRealm { realm, network in
            let log = try realm.log()
            for transport in Self.transports {
                try await network.allowOnly(transport)
                try await network.set(.error(code), on: transport)
                let failure = try #require(try await SignInProgram.kinit.signIn(realm))
                #expect(failure.contains(text))
                let thrown = await #expect(throws: KerberosError.self) { try await SignInProgram.library.initialCredential(realm) }
                #expect(thrown?.code == error)
            }
            #expect(network.exchanges.allSatisfy { $0.reply == .error })
            #expect(try requests(realm, since: log) == 0)
        }
    }

    /// Expects that a fault affected exactly one request, which got no reply.
    private func expectOne(
        _ fault: NetworkFault,
        over transport: NetworkTransports,
        of network: KDCNetwork,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let affected = network.exchanges.filter { $0.fault == fault }
        #expect(affected.map(\.transport) == [transport] && affected.allSatisfy { $0.reply == nil }, sourceLocation: sourceLocation)
    }

    private func requests(_ realm: TestRealm, since log: String) throws -> Int {
        try realm.log().dropFirst(log.count).split(separator: "\n").count { $0.contains("AS_REQ") }
    }
}
