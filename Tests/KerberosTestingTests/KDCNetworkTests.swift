import Foundation
import Kerberos
import KerberosTesting
import Testing

/// Every fault that the network can make, with a real kinit and in process.
@Suite struct KDCNetworkTests {
    /// Clients begin with this transport.
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
    /// Who begins with what; the library leaves UDP to the last.
    private static let beginners: [(NetworkTransports, SignInProgram)] = [(.udp, .kinit), (.tcp, .kinit), (.tcp, .library)]

    @Test(arguments: beginners)
    func everythingPasses(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            #expect(network.exchanges.isEmpty)
            let failure = try await program.signIn(realm)
            #expect(failure == nil)
            let exchanges = network.exchanges
            #expect(exchanges.map(\.request) == [.initialRequest, .initialRequest])
            #expect(exchanges.map(\.reply) == [.error, .initialReply], "the first asks for pre-authentication")
            #expect(exchanges.allSatisfy { $0.transport == transport && $0.fault == .pass })
            #expect(exchanges.allSatisfy { $0.requestSize > 100 && $0.replySize > 100 })
        }
    }

    @Test(arguments: transports, SignInProgram.allCases)
    func onlyOneTransportIsAllowed(transport: NetworkTransports, program: SignInProgram) async throws {
        // Clients begin with the other one, and find its port closed.
        try await withRealm(transport == .udp ? .tcp : .udp) { realm, network in
            try await network.allowOnly(transport)
            #expect(try await program.signsIn(realm))
            #expect(Set(network.exchanges.map(\.transport)) == [transport])
            let count = network.exchanges.count
            try await network.allowOnly(.both)
            #expect(try await program.signsIn(realm))
            let first = program == .library ? .tcp : transport == .udp ? NetworkTransports.tcp : .udp
            #expect(Set(network.exchanges.dropFirst(count).map(\.transport)) == [first])
        }
    }

    @Test(arguments: beginners)
    func closedPortsRefuse(transport: NetworkTransports, program: SignInProgram) async throws {
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
    func aLostRequestIsSentAgain(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            let log = try realm.log()
            try await network.set(.drop, on: transport, for: .next(1))
            #expect(try await program.signsIn(realm))
            let exchanges = network.exchanges
            #expect(exchanges.map(\.fault) == [.drop, .pass, .pass])
            #expect(exchanges.map(\.reply) == [nil, .error, .initialReply])
            #expect(try requests(realm, since: log) == 2)
        }
    }

    @Test(arguments: transports)
    func aLostReplyWasDecided(transport: NetworkTransports) async throws {
        try await withRealm(transport) { realm, network in
            let log = try realm.log()
            try await network.set(.drop(.reply), on: transport, for: .next(1))
            #expect(try await SignInProgram.kinit.signsIn(realm))
            #expect(network.exchanges.map(\.reply) == [nil, .error, .initialReply])
            #expect(try realm.log().dropFirst(log.count).contains("NEEDED_PREAUTH"))
        }
    }

    @Test(arguments: transports)
    func aBlackHoleTakesAndNeverAnswers(transport: NetworkTransports) async throws {
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
    func aDelayLetsOthersOvertake(transport: NetworkTransports, direction: NetworkFault.Direction) async throws {
        try await withRealm(transport) { realm, network in
            try await network.set(.delay(.milliseconds(20), direction))
            #expect(try await SignInProgram.kinit.signsIn(realm))
            #expect(network.exchanges.map(\.reply) == [.error, .initialReply])
            try await network.set(.delay(.seconds(3600), direction), on: transport, for: .next(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await SignInProgram.kinit.signIn(realm) }
                _ = try await network.exchanges(count: 3)
                try await network.set(.pass)
                #expect(try await SignInProgram.kinit.signsIn(realm))
                group.cancelAll()
            }
            #expect(network.exchanges[2].reply == nil)
            #expect(network.exchanges.last?.reply == .initialReply)
        }
    }

    @Test(arguments: beginners)
    func aSpoiltReplyIsRefused(transport: NetworkTransports, program: SignInProgram) async throws {
        try await withRealm(transport) { realm, network in
            try await network.set(.corrupt)
            let failure = try await program.signIn(realm)
            #expect(failure != nil)
            #expect(network.exchanges.allSatisfy { $0.fault == .corrupt && $0.replySize > 100 })
            try await network.set(.pass)
            #expect(try await program.signsIn(realm))
        }
    }

    @Test(arguments: [NetworkFault.corrupt(.request), .truncate(to: 20, .request)])
    func theKDCAnswersNoSpoiltRequest(fault: NetworkFault) async throws {
        for transport in Self.transports {
            try await withRealm(transport) { realm, network in
                let log = try realm.log()
                try await network.set(fault, on: transport, for: .next(1))
                #expect(try await SignInProgram.kinit.signsIn(realm))
                #expect(network.exchanges.map(\.reply) == [nil, .error, .initialReply])
                #expect(try requests(realm, since: log) == 2)
            }
        }
    }

    @Test(arguments: SignInProgram.allCases)
    func aCutDatagramIsRefused(program: SignInProgram) async throws {
        try await withRealm { realm, network in
            try await network.allowOnly(.udp)
            try await network.set(.truncate(to: 20), on: .udp)
            #expect(try await !program.signsIn(realm))
            #expect(network.exchanges.allSatisfy { $0.transport == .udp && $0.replySize == 20 })
        }
    }

    @Test(arguments: SignInProgram.allCases)
    func aCutConnectionIsNoReply(program: SignInProgram) async throws {
        try await withRealm(.tcp) { realm, network in
            try await network.set(.truncate(to: 20), on: .tcp)
            #expect(try await program.signsIn(realm))
            #expect(network.exchanges.map(\.transport) == [.tcp, .udp, .tcp, .udp])
            #expect(network.exchanges.filter { $0.transport == .tcp }.allSatisfy { $0.replySize == 20 })
        }
    }

    @Test func aReplyTooBigForADatagramComesByTCP() async throws {
        try await withRealm { realm, network in
            try await network.set(.replyTooBig)
            #expect(try await SignInProgram.kinit.signsIn(realm))
            // libkrb5 stays with TCP for the rest of its sign-in.
            #expect(network.exchanges.map(\.transport) == [.udp, .tcp, .tcp])
            #expect(network.exchanges.map(\.reply) == [.error, .error, .initialReply])
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
    func errorsReachTheClient(code: KDCErrorCode, text: String, error: KerberosError.Code) async throws {
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

    private func requests(_ realm: TestRealm, since log: String) throws -> Int {
        try realm.log().dropFirst(log.count).split(separator: "\n").count { $0.contains("AS_REQ") }
    }
}
