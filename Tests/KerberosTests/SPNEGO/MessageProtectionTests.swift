import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct MessageProtectionTests {
    /// Both ends of a context with these flags.
    private func withContexts(
        _ flags: ContextFlags = [.confidentiality, .sequenceDetection, .replayDetection],
        offersProtection: Bool = true,
        _ body: (inout EstablishedContext, inout EstablishedContext) throws -> Void
    ) async throws {
        let realm = try TestRealm.required()
        let signIn = try await realm.signIn()
        let service = try realm.principal("HTTP/www.example.test")
        let ticket = try await signIn.client.serviceTicket(for: service, in: signIn.cache)
        let credential = try await signIn.client.initiatorCredential(for: ticket, from: signIn.cache, offersProtection: offersProtection)
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        switch try SPNEGOInitiator.begin(with: credential, flags: flags.union(.mutualAuthentication)) {
        case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
        case .proceed(let token, let initiator):
            switch try SPNEGOAcceptor(credential: acceptor).step(token) {
            case .proceed: throw UnexpectedStep(text: "the server requires a second round trip")
            case .established(let answer, var server):
                switch try initiator.step(answer ?? []) {
                case .proceed: throw UnexpectedStep(text: "the client requires a second round trip")
                case .established(_, var client): try body(&client, &server)
                }
            }
        }
    }

    @Test(arguments: [0, 1, 100_000]) func `a sealed message is read by the other side only`(size: Int) async throws {
        try await withContexts { client, server in
            let message = [UInt8](repeating: 0x61, count: size)
            let token = try client.sealed(message)
            let arrived = try server.opened(token)
            #expect(arrived == message)
            if size > 100 { #expect(Set(token).count > 100, "the token does not contain the message, which has one character") }
            let answer = try client.opened(try server.sealed(message))
            #expect(answer == message)
        }
    }

    @Test func `a repeated message, a missing one and a changed one are refused`() async throws {
        try await withContexts { client, server in
            let first = try client.sealed([1])
            _ = try client.sealed([2])
            let third = try client.sealed([3])
            let message = try server.opened(first)
            #expect(message == [1])
            let repeated = refusal(of: first, by: &server)
            #expect(repeated == .invalidToken)
            let late = refusal(of: third, by: &server)
            #expect(late == .invalidToken, "the second one is missing")
            var changed = try client.sealed([4])
            changed[changed.count - 1] ^= 1
            let other = refusal(of: changed, by: &server)
            #expect(other != nil)
        }
    }

    private func refusal(of token: [UInt8], by context: inout EstablishedContext) -> KerberosError.Code? {
        do throws(KerberosError) {
            _ = try context.opened(token)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a credential without protection offers none to the server`() async throws {
        try await withContexts([], offersProtection: false) { client, server in
            #expect(!client.flags.contains(.confidentiality) && !client.flags.contains(.integrity))
            #expect(!server.flags.contains(.confidentiality) && !server.flags.contains(.integrity))
        }
        try await withContexts([], offersProtection: true) { _, server in
            #expect(server.flags.contains(.confidentiality), "libkrb5 offers it without being asked")
        }
    }
}
