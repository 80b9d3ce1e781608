import HTTPNegotiate
import Testing

/// What other clients' tests expect of one response, asked of the exchange: a challenge means one thing before our header and another
/// after.
struct NegotiateExchangeVectorTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        enum Round: String, Decodable {
            /// Nothing was sent with our header.
            case first
            /// The server challenged, and our header went out once.
            case later
            /// Our header went out before any challenge.
            case unasked
            /// As ``unasked``; then the server gave a token, and our header went out again.
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

    @Test(arguments: try Fixture.load("responses", as: [Vector].self))
    func `judges`(_ vector: Vector) {
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
        #expect(spelling(exchange.receive(status: vector.status, challenges: vector.challenges)) == vector.expect)
        if let verified = vector.verified { #expect(spelling(exchange.verified()) == verified) }
        // Nothing is left open: what is asked for is done first.
        guard case .fail(let error) = exchange.receive(status: 200, challenges: ["Negotiate Zm9v"]) else {
            Issue.record("The exchange took another response")
            return
        }
        #expect(error.code == .failed)
    }

    /// A message is for people and for logs, whatever a server calls its schemes.
    @Test(arguments: ["a", "a,", "Basic realm=x, "])
    func `messages stay short`(_ piece: String) {
        var exchange = NegotiateExchange()
        exchange.sent()
        let field = String(repeating: piece, count: 65536 / piece.utf8.count)
        guard case .deliver(.refused(let reason)) = exchange.receive(status: 401, challenges: [field]) else {
            Issue.record("A refusal was not delivered")
            return
        }
        #expect(reason.utf8.count < 1000)
    }

    private func spelling(_ action: NegotiateExchange.Action) -> String {
        switch action {
        case .deliver(.unauthenticated): "deliver unauthenticated"
        case .deliver(.authenticated): "deliver authenticated"
        case .deliver(.refused): "deliver refused"
        case .begin: "begin"
        case .respond(let token): "respond " + hex(token)
        case .verify(let token): "verify " + hex(token)
        case .fail(let error): "fail \(error.code)"
        }
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
