import HTTPNegotiate
import TestSupport
import Testing

/// Single responses from the tests of other clients: the meaning of a challenge depends on whether the Authorization header was already
/// sent.
struct NegotiateExchangeVectorTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        enum Round: String, Decodable {
            /// No request with our header was sent.
            case first
            /// The server sent a challenge, and our header was sent once.
            case later
            /// Our header was sent before any challenge.
            case unasked
            /// As ``unasked``; then the server sent a token, and our header was sent again.
            case unaskedTwice
        }

        let name: String
        let round: Round
        let status: Int
        let challenges: [String]
        let expect: String
        let verified: String?
        var testDescription: String { "\(name), \(round)" }
    }

    @Test(arguments: try FixtureFile.load("responses", in: .module, as: [Vector].self))
    func `an exchange handles single responses as other clients do`(_ vector: Vector) {
        var exchange = NegotiateExchange()
        switch vector.round {
        case .first: break
        case .unasked: exchange.sent()
        case .unaskedTwice:
            exchange.sent()
            #expect(exchange.receive(status: 401, challenges: ["Negotiate Zm9v"]) == .respond(Array("foo".utf8)))
            exchange.sent()
        case .later:
            #expect(exchange.receive(status: 401, challenges: ["Negotiate"]) == .begin)
            exchange.sent()
        }
        #expect(exchange.receive(status: vector.status, challenges: vector.challenges).spelling == vector.expect)
        if let verified = vector.verified { #expect(exchange.verified().spelling == verified) }
        // The requested action comes first: the exchange accepts no other response.
        guard case .fail(let error) = exchange.receive(status: 200, challenges: ["Negotiate Zm9v"]) else {
            Issue.record("The exchange accepted another response")
            return
        }
        #expect(error.code == .failed)
    }

    /// Messages are for users and logs, so the schemes of a server must not make them long.
    @Test(arguments: ["a", "a,", "Basic realm=x, "])
    func `a message stays short even if the challenge is long`(_ piece: String) {
        var exchange = NegotiateExchange()
        exchange.sent()
        let field = String(repeating: piece, count: 65536 / piece.utf8.count)
        guard case .deliver(.refused(let reason)) = exchange.receive(status: 401, challenges: [field]) else {
            Issue.record("A refusal was not delivered")
            return
        }
        #expect(reason.utf8.count < 1000)
    }
}
