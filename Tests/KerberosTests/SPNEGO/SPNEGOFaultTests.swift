import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Invalid, truncated and forged SPNEGO tokens are rejected at both ends.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct SPNEGOFaultTests {
    struct Answer: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: String
        /// The client's error code; nil means `invalidToken`.
        let code: String?
        var testDescription: String { name }
    }

    private func ends() async throws -> (credential: InitiatorCredential, acceptor: AcceptorCredential) {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test"))
        return (credential, try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    }

    /// Another mechanism selected (CVE-2014-4343), an unknown one, request-mic, reject, "accepted" without an AP-REP: each is an error,
    /// and nothing is sent.
    @Test(arguments: try FixtureFile.load("answers", in: .module, as: [Answer].self))
    func `the client rejects every reply without proof of the server's identity`(answer: Answer) async throws {
        let (credential, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let code = KerberosError.Code(rawValue: answer.code ?? KerberosError.Code.invalidToken.rawValue)
        let error = await expectFailure(code) { _ = try initiatorEnd(from: credential, answer: bytes) }
        #expect(error?.subject == "HTTP/www.example.test@EXAMPLE.TEST")
        // Some texts of libgssapi end with a NUL, which would be shown as an escape.
        #expect(error?.description.contains("\\u{0}") == false && error?.libraryMessage.contains("\\u{0}") == false)
        // The credential still works.
        _ = try establish(credential, acceptor)
    }

    @Test(arguments: try FixtureFile.load("answers", in: .module, as: [Answer].self))
    func `the server rejects an invalid first token`(answer: Answer) async throws {
        let (_, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let error = await expectFailure(.invalidToken, comment: answer.name) { _ = try acceptorEnd(acceptor, token: bytes) }
        #expect(error?.message.hasPrefix("the client's token is ") == true, "\(String(describing: error))")
    }

    @Test(arguments: try FixtureFile.load("answers", in: .module, as: [Answer].self))
    func `the asynchronous call throws the errors of the synchronous one`(answer: Answer) async throws {
        let (_, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let expected = await expectFailure(.invalidToken) { _ = try acceptorEnd(acceptor, token: bytes) }
        let error = await expectFailure(.invalidToken) { _ = try await acceptor.accept(bytes) }
        #expect(error?.description == expected?.description)
    }

    /// A program decides by the code whether the client or its own configuration is to blame.
    @Test func `a missing and an outdated keytab are faults of the server`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let (path, old) = ("\(realm.directory)/server.keytab", try await realm.keytab(for: "HTTP/www.example.test"))
            try FileManager.default.copyItem(atPath: realm.keytabPath, toPath: path)
            let acceptor = try AcceptorCredential(keytab: path, replayCache: .disabled)
            func newToken() async throws -> [UInt8] {
                try firstToken(from: await realm.signIn().initiator(for: realm.principal("HTTP/www.example.test")))
            }
            let former = try await newToken()
            try await realm.rotateKeys(of: "HTTP/www.example.test", keepingOld: false)
            let token = try await newToken()
            let clientCodes: Set<KerberosError.Code> = [.invalidToken, .channelBindingsDiffer, .ticketExpired, .clockSkew]
            func expectServerFault(_ state: String) {
                let error = #expect(throws: KerberosError.self, "\(state)") { _ = try acceptorEnd(acceptor, token: token) }
                #expect(error.map { clientCodes.contains($0.code) } == false, "\(state): \(String(describing: error))")
                #expect(error?.description.hasPrefix("\(path): ") == true && error?.message.contains("klist -k") == true)
            }
            try FileManager.default.removeItem(atPath: path)
            expectServerFault("missing")
            try FileManager.default.copyItem(atPath: old, toPath: path)
            expectServerFault("outdated")
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: realm.keytabPath, toPath: path)
            #expect(try acceptorEnd(acceptor, token: token).end.initiator == "alice@EXAMPLE.TEST")
            // The ticket of this one is older than the server's key.
            await expectFailure(.invalidToken) { _ = try acceptorEnd(acceptor, token: former) }
        }
    }

    /// libgssapi gives no reason for a Kerberos request that it cannot decode.
    @Test func `a token with a request that cannot be decoded is the client's fault`() async throws {
        let (_, acceptor) = try await ends()
        let header = "60 33 06 06 2b 06 01 05 05 02 a0 29 30 27 a0 0d 30 0b 06 09 2a 86 48 86 f7 12 01 02 02 "
        let request = "a2 16 04 14 60 12 06 09 2a 86 48 86 f7 12 01 02 02 01 00 6e 03 02 01 05"
        let token = try bytes(hexadecimal: header + request)
        await expectFailure(.invalidToken) { _ = try acceptorEnd(acceptor, token: token) }
    }

    @Test func `a repeated token is the client's fault`() async throws {
        let realm = try TestRealm.required()
        let (credential, _) = try await ends()
        let token = try firstToken(from: credential)
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath)
        #expect(try acceptorEnd(acceptor, token: token).end.initiator == "alice@EXAMPLE.TEST")
        let error = await expectFailure(.invalidToken) { _ = try acceptorEnd(acceptor, token: token) }
        #expect(error?.message.hasPrefix("the client's token was used before") == true)
    }

    /// `accept-completed` alone is all that a relay without the service's key can send, so it suffices only without mutual
    /// authentication.
    @Test func `accept-completed without an AP-REP is not mutual authentication`() async throws {
        let (credential, _) = try await ends()
        let answer = try bytes(hexadecimal: "a1 14 30 12 a0 03 0a 01 00 a1 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        await expectFailure(.flagsNotGranted) { _ = try initiatorEnd(from: credential, answer: answer) }
        let unproved = try initiatorEnd(from: credential, answer: answer, flags: .integrity)
        #expect(!unproved.flags.contains(.mutualAuthentication))
    }

    /// NTLM is never offered, whatever mechanisms are installed, so no server can select it.
    @Test func `the first token offers only Kerberos`() async throws {
        let (credential, _) = try await ends()
        let token = try firstToken(from: credential)
        let offered = try bytes(hexadecimal: "a0 0d 30 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        #expect(token.prefix(64).contains(offered), "the list of mechanisms has one entry")
        #expect(!token.contains(Array("NTLMSSP".utf8)))
        #expect(!token.contains(try bytes(hexadecimal: "2b 06 01 04 01 82 37 02 02 0a")))
    }

    @Test func `the client rejects every truncated reply`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(whole.count > 100)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try initiatorEnd(from: credential, answer: Array(whole.prefix(length)))
            }
        }
    }

    @Test func `the server rejects every truncated first token`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try firstToken(from: credential)
        for length in whole.indices {
            await expectFailure(.invalidToken, comment: "\(length) of \(whole.count)") {
                _ = try acceptorEnd(acceptor, token: Array(whole.prefix(length)))
            }
        }
        #expect(try acceptorEnd(acceptor, token: whole).end.initiator == "alice@EXAMPLE.TEST")
    }

    @Test func `the client rejects the server's reply of another exchange`() async throws {
        let (credential, acceptor) = try await ends()
        let other = try acceptorEnd(acceptor, token: firstToken(from: credential)).answer
        #expect(throws: KerberosError.self) { _ = try initiatorEnd(from: credential, answer: other) }
    }

    @Test func `the client rejects its own token as a reply`() async throws {
        let (credential, _) = try await ends()
        let own = try firstToken(from: credential)
        await expectFailure(.invalidToken) { _ = try initiatorEnd(from: credential, answer: own) }
    }

    /// Repeats the error paths, also with incomplete contexts, so that the address sanitizer can find leaks.
    @Test func `the credentials still work after many failures`() async throws {
        let (credential, acceptor) = try await ends()
        let answers = try FixtureFile.load("answers", in: .module, as: [Answer].self).map { try bytes(hexadecimal: $0.bytes) }
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

    /// DCE style has three legs instead of two, so the acceptor waits for a second token.
    @Test(arguments: try FixtureFile.load("answers", in: .module, as: [Answer].self))
    func `the server rejects an invalid second token`(answer: Answer) async throws {
        let (credential, acceptor) = try await ends()
        let bytes = try bytes(hexadecimal: answer.bytes)
        let error = #expect(throws: KerberosError.self) { _ = try halfMade(acceptor, from: credential).step(bytes) }
        #expect(error?.message.isEmpty == false && error?.description.contains("\\u{0}") == false)
        if answer.bytes.isEmpty { #expect(error?.code == .invalidToken) }
    }

    @Test func `the server rejects every truncated second token`() async throws {
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
            throw UnexpectedStep(text: "the third leg does not complete the exchange")
        }
        #expect(context.initiator == "alice@EXAMPLE.TEST")
    }

    /// The first token offers Kerberos without a Kerberos token. The acceptor requests one, and receives none or a truncated one.
    @Test(arguments: ["", "a1", "a1 03 30 01", "a1 07 30 05 a2 03 04 01", "60", "6e 82"])
    func `the server rejects an empty or truncated token after an offer without a token`(second: String) async throws {
        let (_, acceptor) = try await ends()
        let offer = try bytes(hexadecimal: "60 1b 06 06 2b 06 01 05 05 02 a0 11 30 0f a0 0d 30 0b 06 09 2a 86 48 86 f7 12 01 02 02")
        guard case .proceed(_, let state) = try SPNEGOAcceptor(credential: acceptor).step(offer) else {
            throw UnexpectedStep(text: "the server accepts an offer without a token")
        }
        let held = Held(state)
        await expectFailure(.invalidToken) { _ = try held.take()?.step(bytes(hexadecimal: second)) }
    }

    @Test func `a token with a changed byte never authenticates another principal`() async throws {
        let (credential, acceptor) = try await ends()
        let whole = try firstToken(from: credential)
        for index in whole.indices {
            var token = whole
            token[index] ^= 0x01
            // Some bytes are not significant, such as a name's type; the names stay the same then. All other changes are rejected.
            if let end = try? acceptorEnd(acceptor, token: token).end {
                #expect(end.initiator == "alice@EXAMPLE.TEST")
                #expect(end.acceptor == "HTTP/www.example.test@EXAMPLE.TEST")
            }
        }
    }

    /// Returns an acceptor that has answered a first token and waits for a second one.
    private func halfMade(_ acceptor: AcceptorCredential, from credential: InitiatorCredential) throws -> SPNEGOAcceptor {
        let token = try firstToken(from: credential, flags: Self.threeLegged)
        guard case .proceed(_, let state) = try SPNEGOAcceptor(credential: acceptor).step(token) else {
            throw UnexpectedStep(text: "the server requires no second token")
        }
        return state
    }

    /// Returns a client's second token, and the acceptor that waits for it.
    private func threeLegs(_ credential: InitiatorCredential, _ acceptor: AcceptorCredential) throws -> (second: [UInt8], state: Held) {
        guard case .proceed(let first, let client) = try SPNEGOInitiator.begin(with: credential, flags: Self.threeLegged) else {
            throw UnexpectedStep(text: "there is no second leg")
        }
        guard case .proceed(let answer, let server) = try SPNEGOAcceptor(credential: acceptor).step(first) else {
            throw UnexpectedStep(text: "the server requires no second token")
        }
        guard case .proceed(let second, _) = try client.step(answer) else { throw UnexpectedStep(text: "there is no third leg") }
        return (second, Held(server))
    }

    private static let threeLegged: ContextFlags = [.mutualAuthentication, .integrity, ContextFlags(rawValue: 0x1000)]
}

/// A box for an acceptor's state, because a tuple cannot contain a noncopyable value.
private final class Held {
    private var state: SPNEGOAcceptor?
    init(_ state: consuming SPNEGOAcceptor) { self.state = consume state }
    func take() -> SPNEGOAcceptor? { state.take() }
}
