import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Peers that answer anything but what they should.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct SPNEGOFaultTests {
    struct Answer: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: String
        var testDescription: String { name }
    }

    private func ends() async throws -> (credential: InitiatorCredential, acceptor: AcceptorCredential) {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
        return (credential, try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    }

    @Test(arguments: try fixture("answers", as: [Answer].self))
    func theClientTakesNoAnswerWithoutProof(answer: Answer) async throws {
        let (credential, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let error = await expectFailure(.invalidToken) { _ = try initiatorEnd(from: credential, answer: bytes) }
        #expect(error?.subject == "HTTP/www.example.test@EXAMPLE.TEST")
        // The credential is as good as before.
        _ = try establish(credential, acceptor)
    }

    @Test(arguments: try fixture("answers", as: [Answer].self))
    func theServerTakesNoSuchFirstToken(answer: Answer) async throws {
        let (_, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        await expectFailure(.invalidToken, comment: answer.name) { _ = try acceptorEnd(acceptor, token: bytes) }
    }

    @Test func noPrefixOfAnAnswerIsTaken() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(whole.count > 100)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try initiatorEnd(from: credential, answer: Array(whole.prefix(length)))
            }
        }
    }

    @Test func noPrefixOfAFirstTokenIsTaken() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try firstToken(from: credential)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try acceptorEnd(acceptor, token: Array(whole.prefix(length)))
            }
        }
        #expect(try acceptorEnd(acceptor, token: whole).end.initiator == "alice@EXAMPLE.TEST")
    }

    @Test func theProofOfAnotherExchangeIsNotTaken() async throws {
        let (credential, acceptor) = try await ends()
        let other = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(throws: KerberosError.self) { _ = try initiatorEnd(from: credential, answer: other) }
    }

    @Test func anAnswerThatIsTheClientsOwnTokenIsNotTaken() async throws {
        let (credential, _) = try await ends()
        let own = try firstToken(from: credential)
        await expectFailure(.invalidToken) { _ = try initiatorEnd(from: credential, answer: own) }
    }

    @Test func noChangedByteLetsAnotherIn() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try firstToken(from: credential)
        for index in whole.indices {
            var token = whole
            token[index] ^= 0x01
            // Some bytes carry nothing (a name's type): then the name is the same; all others are refused.
            if let end = try? acceptorEnd(acceptor, token: token).end {
                #expect(end.initiator == "alice@EXAMPLE.TEST")
                #expect(end.acceptor == "HTTP/www.example.test@EXAMPLE.TEST")
            }
        }
    }
}
