import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Peers that answer anything but what they should.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct SPNEGOFaultTests {
    struct Answer: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: String
        /// What it is to a client; nil for a token that is none.
        let code: String?
        var testDescription: String { name }
    }

    private func ends() async throws -> (credential: InitiatorCredential, acceptor: AcceptorCredential) {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
        return (credential, try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    }

    /// Another mechanism selected (CVE-2014-4343), an unknown one, request-mic, reject, "accepted" without an AP-REP: an error each time,
    /// and nothing is sent.
    @Test(arguments: try fixture("answers", as: [Answer].self))
    func `the client takes no answer without proof`(answer: Answer) async throws {
        let (credential, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let code = KerberosError.Code(rawValue: answer.code ?? KerberosError.Code.invalidToken.rawValue)
        let error = await expectFailure(code) { _ = try initiatorEnd(from: credential, answer: bytes) }
        #expect(error?.subject == "HTTP/www.example.test@EXAMPLE.TEST")
        // The credential is as good as before.
        _ = try establish(credential, acceptor)
    }

    @Test(arguments: try fixture("answers", as: [Answer].self))
    func `the server takes no such first token`(answer: Answer) async throws {
        let (_, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        // Where an NTLM mechanism is installed GSSAPI knows whose message it is, and that we have no credential for it.
        await expectFailure(.invalidToken, .noCredentials, comment: answer.name) { _ = try acceptorEnd(acceptor, token: bytes) }
    }

    /// `accept-completed` alone is what a relay without the service's key can say: it counts where no proof was asked for, and nowhere
    /// else.
    @Test func `accept completed without an APREPIs no mutual authentication`() async throws {
        let (credential, _) = try await ends()
        let answer = try bytes(hexadecimal: "a1 14 30 12 a0 03 0a 01 00 a1 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        await expectFailure(.flagsNotGranted) { _ = try initiatorEnd(from: credential, answer: answer) }
        let unproved = try initiatorEnd(from: credential, answer: answer, flags: .integrity)
        #expect(!unproved.flags.contains(.mutualAuthentication))
    }

    /// Whatever is installed: NTLM is never offered, so no server can ask for it.
    @Test func `the first token offers Kerberos alone`() async throws {
        let (credential, _) = try await ends()
        let token = try firstToken(from: credential)
        let offered = try bytes(hexadecimal: "a0 0d 30 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        #expect(token.prefix(64).contains(offered), "the list of mechanisms holds one")
        #expect(!token.contains(Array("NTLMSSP".utf8)))
        #expect(!token.contains(try bytes(hexadecimal: "2b 06 01 04 01 82 37 02 02 0a")))
    }

    @Test func `no prefix of an answer is taken`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(whole.count > 100)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try initiatorEnd(from: credential, answer: Array(whole.prefix(length)))
            }
        }
    }

    @Test func `no prefix of a first token is taken`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try firstToken(from: credential)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try acceptorEnd(acceptor, token: Array(whole.prefix(length)))
            }
        }
        #expect(try acceptorEnd(acceptor, token: whole).end.initiator == "alice@EXAMPLE.TEST")
    }

    @Test func `the proof of another exchange is not taken`() async throws {
        let (credential, acceptor) = try await ends()
        let other = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(throws: KerberosError.self) { _ = try initiatorEnd(from: credential, answer: other) }
    }

    @Test func `an answer that is the clients own token is not taken`() async throws {
        let (credential, _) = try await ends()
        let own = try firstToken(from: credential)
        await expectFailure(.invalidToken) { _ = try initiatorEnd(from: credential, answer: own) }
    }

    /// The error paths over and over, contexts dropped half made among them: the address sanitizer sees what they leave.
    @Test func `many failures leave the credentials as they were`() async throws {
        let (credential, acceptor) = try await ends()
        let answers = try fixture("answers", as: [Answer].self).map { try bytes(hexadecimal: $0.bytes) }
        for _ in 0..<25 {
            for answer in answers {
                #expect(throws: KerberosError.self) { _ = try initiatorEnd(from: credential, answer: answer) }
                #expect(throws: KerberosError.self) { _ = try acceptorEnd(acceptor, token: answer) }
                #expect(throws: KerberosError.self) { _ = try halfMade(acceptor, from: credential).step(answer) }
                _ = try firstToken(from: credential)
            }
        }
        #expect(try establish(credential, acceptor).server.initiator == "alice@EXAMPLE.TEST")
    }

    /// DCE style has three legs where Kerberos has two: the acceptor waits for a second token.
    @Test(arguments: try fixture("answers", as: [Answer].self))
    func `the server takes no such second token`(answer: Answer) async throws {
        let (credential, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let error = #expect(throws: KerberosError.self) { _ = try halfMade(acceptor, from: credential).step(bytes) }
        #expect(error?.message.isEmpty == false)
        if answer.bytes.isEmpty { #expect(error?.code == .invalidToken) }
    }

    @Test func `no prefix of a second token is taken`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try threeLegs(credential, acceptor).second
        #expect(whole.count > 30)
        for length in whole.indices {
            #expect(throws: KerberosError.self, "\(length) of \(whole.count)") {
                _ = try threeLegs(credential, acceptor).state.take()?.step(Array(whole.prefix(length)))
            }
        }
        let legs = try threeLegs(credential, acceptor)
        guard case .established(_, let context)? = try legs.state.take()?.step(legs.second) else {
            throw UnexpectedStep(text: "the third leg does not end it")
        }
        #expect(context.initiator == "alice@EXAMPLE.TEST")
    }

    /// A first token that names the mechanism and brings nothing: the acceptor asks for more, and gets nothing or half of it.
    @Test(arguments: ["", "a1", "a1 03 30 01", "a1 07 30 05 a2 03 04 01", "60", "6e 82"])
    func `the server takes no empty or truncated token after a bare offer`(second: String) async throws {
        let (_, acceptor) = try await ends()
        let offer = try bytes(hexadecimal: "60 1b 06 06 2b 06 01 05 05 02 a0 11 30 0f a0 0d 30 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        guard case .proceed(_, let state) = try SPNEGOAcceptor(credential: acceptor).step(offer) else {
            throw UnexpectedStep(text: "the server is content with an offer")
        }
        let held = Held(state)
        await expectFailure(.invalidToken) { _ = try held.take()?.step(bytes(hexadecimal: second)) }
    }

    @Test func `no changed byte lets another in`() async throws {
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

    /// An acceptor that has answered a first token and waits for a second one.
    private func halfMade(_ acceptor: AcceptorCredential, from credential: InitiatorCredential) throws -> SPNEGOAcceptor {
        let token = try firstToken(from: credential, flags: Self.threeLegged)
        guard case .proceed(_, let state) = try SPNEGOAcceptor(credential: acceptor).step(token) else {
            throw UnexpectedStep(text: "the server wants no second token")
        }
        return state
    }

    /// A client's second token, and the acceptor that waits for it.
    private func threeLegs(_ credential: InitiatorCredential, _ acceptor: AcceptorCredential) throws -> (second: [UInt8], state: Held) {
        guard case .proceed(let first, let client) = try SPNEGOInitiator.begin(with: credential, flags: Self.threeLegged) else {
            throw UnexpectedStep(text: "there is no second leg")
        }
        guard case .proceed(let answer, let server) = try SPNEGOAcceptor(credential: acceptor).step(first) else {
            throw UnexpectedStep(text: "the server wants no second token")
        }
        guard case .proceed(let second, _) = try client.step(answer) else { throw UnexpectedStep(text: "there is no third leg") }
        return (second, Held(server))
    }

    private static let threeLegged: ContextFlags = [.mutualAuthentication, .integrity, ContextFlags(rawValue: 0x1000)]
}

/// An acceptor's state in a tuple.
private final class Held {
    private var state: SPNEGOAcceptor?
    init(_ state: consuming SPNEGOAcceptor) { self.state = consume state }
    func take() -> SPNEGOAcceptor? { state.take() }
}
