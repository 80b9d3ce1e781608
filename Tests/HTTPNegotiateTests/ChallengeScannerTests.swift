import TestSupport
import Testing

@testable import HTTPNegotiate

/// The scanner with generated fields; fixed seeds make a failure reproducible.
struct ChallengeScannerTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `any text is scanned without a trap`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "Negotiate", "Basic", "a", " ", "\t", ",", "=", "\"", "\\", "\\\"", "Zm9v", "realm=", "\r\n ", "\n", "\u{0}", "é", "/",
        ]
        for _ in 0..<500 {
            let fields = (0..<Int.random(in: 1...2, using: &generator)).map { _ in
                (0..<Int.random(in: 0...14, using: &generator)).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            }
            let challenges = AuthenticationChallenge.parse(fields)
            for challenge in challenges {
                let names = [challenge.scheme] + challenge.parameters.map(\.name)
                let areTokens = names.allSatisfy { $0.utf8.allSatisfy(\.isTokenCharacter) }
                #expect(areTokens, "\(fields)")
                #expect(challenge.token68 == nil || challenge.parameters.isEmpty, "\(fields)")
            }
            if case .found = NegotiateChallenge.find(in: fields) {
                #expect(challenges.contains { $0.hasScheme("Negotiate") }, "\(fields)")
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `generated challenges are parsed back to themselves`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let challenges = (0..<Int.random(in: 1...4, using: &generator)).map { _ in randomChallenge(&generator) }
            let separator = [", ", ",", " ,\t,, ", ",\r\n "].randomElement(using: &generator) ?? ","
            let field = challenges.map(written).joined(separator: separator)
            #expect(AuthenticationChallenge.parse([field]) == challenges, "\(field.debugDescription)")
        }
    }

    private func randomChallenge(_ generator: inout SeededGenerator) -> AuthenticationChallenge {
        let scheme = ["Negotiate", "NTLM", "Basic", "x-y"].randomElement(using: &generator) ?? "Basic"
        switch Int.random(in: 0...2, using: &generator) {
        case 0: return AuthenticationChallenge(scheme: scheme)
        case 1: return AuthenticationChallenge(scheme: scheme, token68: ["Zm9v", "QQ==", "a-b._~+/="].randomElement(using: &generator))
        default:
            let values = ["", "x", "a, Negotiate Zm9v", "\"", "\\", "\", Negotiate, \"", "é\t,", "="]
            let parameters = (0..<Int.random(in: 1...3, using: &generator)).map { index in
                AuthenticationChallenge.Parameter(name: "p\(index)", value: values.randomElement(using: &generator) ?? "")
            }
            return AuthenticationChallenge(scheme: scheme, parameters: parameters)
        }
    }

    private func written(_ challenge: AuthenticationChallenge) -> String {
        if let token = challenge.token68 { return "\(challenge.scheme) \(token)" }
        if challenge.parameters.isEmpty { return challenge.scheme }
        let parameters = challenge.parameters.map { parameter in
            let escaped = parameter.value.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
            return "\(parameter.name)=\"\(escaped)\""
        }
        return "\(challenge.scheme) " + parameters.joined(separator: ", ")
    }
}
