import HTTPNegotiate
import TestSupport
import Testing

/// The state machine of a Negotiate exchange.
struct NegotiateExchangeTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        struct Step: Decodable {
            let receive: Int?
            let challenges: [String]?
            let call: String?
            let fieldSize: Int?
            let expect: String?
        }

        let name: String
        let challenger: Challenger?
        let opensTunnel: Bool?
        let upgradesOverTLS: Bool?
        let maximumLegs: Int?
        let mutual: String?
        let steps: [Step]
        var testDescription: String { name }
    }

    @Test(
        arguments: try FixtureFile.load("exchanges", in: .module, as: [Vector].self)
            + FixtureFile.load("proxy-exchanges", in: .module, as: [Vector].self)
    )
    func `an exchange returns the expected action for every step`(_ vector: Vector) throws {
        let mutual: MutualAuthentication = try #require(MutualAuthentication(rawValue: vector.mutual ?? "required"))
        var exchange = NegotiateExchange(
            challenger: vector.challenger ?? .origin,
            opensTunnel: vector.opensTunnel ?? false,
            upgradesOverTLS: vector.upgradesOverTLS ?? false,
            maximumLegs: vector.maximumLegs ?? 4,
            mutualAuthentication: mutual
        )
        for step in vector.steps {
            let action: NegotiateExchange.Action?
            switch (step.receive, step.call) {
            case (let status?, nil): action = exchange.receive(status: status, challenges: try #require(step.challenges))
            case (nil, "verified"): action = exchange.verified()
            case (nil, "unproven"): action = exchange.unproven(status: 200)
            case (nil, "declined"): action = exchange.declined()
            case (nil, "sent"):
                exchange.sent(fieldSize: step.fieldSize ?? 0)
                action = nil
            default:
                Issue.record("Not a valid step: \(step)")
                return
            }
            #expect(action?.spelling == step.expect)
        }
    }

    /// The number of requests is bounded for every response of a server.
    @Test(arguments: ["Negotiate", "Negotiate Zm9v", "NTLM", "Negotiate ***", ""], 1...6)
    func `an exchange never sends more requests than its limit`(challenge: String, maximumLegs: Int) {
        var exchange = NegotiateExchange(maximumLegs: maximumLegs)
        var requests = 0
        var response = exchange.receive(status: 401, challenges: ["Negotiate"])
        while requests <= 100 {
            guard response == .begin || response == .respond(Array("foo".utf8)) else { break }
            exchange.sent()
            requests += 1
            response = exchange.receive(status: 401, challenges: [challenge])
        }
        #expect(requests == (challenge == "Negotiate Zm9v" ? maximumLegs : 1))
    }

    @Test(arguments: [(1, "after 1 request."), (2, "after 2 requests.")])
    func `an exchange that is too long says how many requests were sent`(maximumLegs: Int, words: String) {
        var exchange = NegotiateExchange(maximumLegs: maximumLegs)
        var action = exchange.receive(status: 401, challenges: ["Negotiate"])
        for _ in 0..<maximumLegs {
            exchange.sent()
            action = exchange.receive(status: 401, challenges: ["Negotiate Zm9v"])
        }
        guard case .fail(let error) = action else {
            Issue.record("The exchange went on: \(action)")
            return
        }
        #expect(error.message.contains(words), "\(error)")
    }

    @Test func `messages contain the status, the setting and the schemes`() {
        var missing = NegotiateExchange()
        #expect(missing.receive(status: 401, challenges: ["Negotiate"]) == .begin)
        missing.sent()
        guard case .fail(let error) = missing.receive(status: 503, challenges: []) else {
            Issue.record("A missing final token was accepted")
            return
        }
        #expect(error.message.contains("503"))
        #expect(error.message.contains("OptionalMutualAuthenticationHosts"))

        var unproven = NegotiateExchange()
        #expect(unproven.receive(status: 401, challenges: ["Negotiate"]) == .begin)
        unproven.sent()
        #expect(unproven.receive(status: 200, challenges: ["Negotiate Zm9v"]) == .verify(Array("foo".utf8)))
        guard case .fail(let error) = unproven.unproven(status: 200) else {
            Issue.record("An acceptance without a proof was accepted")
            return
        }
        #expect(error.message.contains("OptionalMutualAuthenticationHosts"))

        var malformed = NegotiateExchange()
        guard case .deliver(.refused(let reason)) = malformed.receive(status: 401, challenges: ["Negotiate a fish"]) else {
            Issue.record("A 401 that cannot be answered was not delivered")
            return
        }
        #expect(reason.contains("challenge is malformed"))

        var refused = NegotiateExchange()
        refused.sent()
        guard case .deliver(.refused(let reason)) = refused.receive(status: 401, challenges: ["NTLM, Basic realm=x"]) else {
            Issue.record("A refusal was not delivered")
            return
        }
        #expect(reason.contains("NTLM, Basic"))
    }

    @Test func `messages about a proxy name the proxy, not the server`() {
        var messages: [String] = []
        func note(_ action: NegotiateExchange.Action) {
            switch action {
            case .deliver(.refused(let reason)): messages.append(reason)
            case .fail(let error): messages.append(error.message)
            default: Issue.record("No message: \(action)")
            }
        }
        func begun(maximumLegs: Int = 4) -> NegotiateExchange {
            var exchange = NegotiateExchange(challenger: .proxy, maximumLegs: maximumLegs, mutualAuthentication: .required)
            #expect(exchange.receive(status: 407, challenges: ["Negotiate"]) == .begin)
            exchange.sent(fieldSize: 5000)
            return exchange
        }
        var exchange = NegotiateExchange(challenger: .proxy)
        note(exchange.receive(status: 407, challenges: ["Negotiate ***"]))
        for (status, challenges) in [
            (407, ["Negotiate"]), (407, ["Basic realm=x"]), (407, []), (407, ["Negotiate ***"]), (200, []), (431, []), (400, []),
        ] {
            exchange = begun()
            note(exchange.receive(status: status, challenges: challenges))
        }
        exchange = begun(maximumLegs: 1)
        note(exchange.receive(status: 407, challenges: ["Negotiate Zm9v"]))
        exchange = begun()
        #expect(exchange.receive(status: 200, challenges: ["Negotiate Zm9v"]) == .verify(Array("foo".utf8)))
        note(exchange.unproven(status: 200))
        #expect(messages.count == 10)
        #expect(messages.allSatisfy { $0.hasPrefix("The proxy") && !$0.contains("server") }, "\(messages)")
        #expect(messages.allSatisfy { !$0.contains("OptionalMutualAuthenticationHosts") }, "\(messages)")
    }

    /// As the plan of each of them does.
    @Test(arguments: [(Challenger.origin, MutualAuthentication.required), (.proxy, .optional)])
    func `an exchange requires mutual authentication of an origin server by default, and not of a proxy`(
        challenger: Challenger,
        expected: MutualAuthentication
    ) {
        var exchange = NegotiateExchange(challenger: challenger)
        #expect(exchange.mutualAuthentication == expected)
        #expect(exchange.receive(status: challenger == .proxy ? 407 : 401, challenges: ["Negotiate"]) == .begin)
        exchange.sent()
        let isAccepted = exchange.receive(status: 200, challenges: []) == .deliver(.authenticated)
        #expect(isAccepted == (challenger == .proxy))
    }
}
