import FuzzerSupport

@testable import HTTPNegotiate

/// Fuzzes the parser of challenges. The input is the lines of a field.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    var raw = input
    let lines = input.texts()
    while !raw.isEmpty { checkParts(of: raw.textBytes()) }
    let reference = ReferenceParser(lines)
    let challenges = AuthenticationChallenge.parse(lines)
    checkAgree(challenges, reference)
    checkWritten(challenges)
    checkFound(in: lines, reference)
    for line in lines { checkBase64(line) }
    return 0
}

/// Checks the scanner on bytes that may not be UTF-8: every part must be at the reported position, and outside of quotes.
private func checkParts(of line: [UInt8]) {
    let quoted = ReferenceParser.quoted(line)
    var scanner = ChallengeScanner(line)
    var end = 0
    var isInside = false
    func take(_ part: ArraySlice<UInt8>, isQuoted: Bool) {
        check(!part.isEmpty && part.startIndex >= end, "A part is empty or out of order")
        check(part.indices.allSatisfy { quoted[$0] == isQuoted }, "A part begins or ends in a quoted string")
        end = part.endIndex
    }
    while let part = scanner.next() {
        switch part {
        case .scheme(let scheme):
            take(scheme, isQuoted: false)
            check(Grammar.isToken(Array(scheme)), "A scheme is not a token")
            isInside = true
        case .token68(let token):
            check(isInside, "A token without a challenge")
            take(token, isQuoted: false)
            check(Grammar.isToken68(Array(token)), "A token68 is invalid")
        case .parameter(let name, let value):
            check(isInside, "A parameter without a challenge")
            take(name, isQuoted: false)
            take(value, isQuoted: value.first == UInt8(ascii: "\""))
            check(Grammar.isToken(Array(value)) || Grammar.unquoted(Array(value)) != nil, "A value is neither a token nor a quoted string")
        case .fault: check(isInside, "A fault without a challenge")
        }
    }
}

private func checkAgree(_ challenges: [AuthenticationChallenge], _ reference: ReferenceParser) {
    let read = challenges.map { challenge in
        ReferenceParser.Challenge(
            scheme: challenge.scheme,
            token68: challenge.token68,
            parameters: challenge.parameters.map { [$0.name, $0.value] }
        )
    }
    let expected = reference.challenges.filter { !$0.isFaulty }
    check(read == expected, "Read \(read) where the reference reads \(expected)")
}

/// Checks that parsed challenges survive a round trip.
private func checkWritten(_ challenges: [AuthenticationChallenge]) {
    let fields = challenges.map { challenge in
        if let token = challenge.token68 { return "\(challenge.scheme) \(token)" }
        let parameters = challenge.parameters.map { parameter in
            let escaped = parameter.value.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
            return "\(parameter.name)=\"\(escaped)\""
        }
        return parameters.isEmpty ? challenge.scheme : "\(challenge.scheme) " + parameters.joined(separator: ", ")
    }
    check(AuthenticationChallenge.parse(fields) == challenges, "Encoded line by line, \(challenges) are parsed differently")
    let field = fields.joined(separator: " ,\t,")
    check(AuthenticationChallenge.parse([field]) == challenges, "Encoded in one line, \(challenges) are parsed differently")
}

private func checkFound(in lines: [String], _ reference: ReferenceParser) {
    let result = NegotiateChallenge.find(in: lines)
    let expected = reference.challenges.first { $0.scheme.lowercased() == "negotiate" }
    switch result {
    case .absent: check(expected == nil, "A Negotiate challenge was not found")
    case .malformed: check(expected != nil, "A Negotiate challenge was found but none was sent")
    case .found(let challenge):
        guard let expected, !expected.isFaulty, expected.parameters.isEmpty else {
            fatalError("A Negotiate challenge was found but none was sent")
        }
        check(challenge.token.map(Base64.encode) == expected.token68, "The token is not the one that was sent")
    }
    // Text in quotes must not change the result.
    let blanked = lines.map(withoutQuotedText)
    if case .found = result { check(NegotiateChallenge.find(in: blanked) == result, "A token was read from a quoted string") }
    if result == .absent { check(NegotiateChallenge.find(in: blanked) == .absent, "A quoted string hid a Negotiate challenge") }
}

/// Returns the line with all quoted characters replaced.
private func withoutQuotedText(_ line: String) -> String {
    let bytes = Array(line.utf8)
    let blanked = zip(bytes, ReferenceParser.quoted(bytes)).map { byte, isQuoted in
        isQuoted && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") ? UInt8(ascii: "x") : byte
    }
    return String(decoding: blanked, as: UTF8.self)
}

private func checkBase64(_ text: String) {
    guard let bytes = Base64.decode(text.utf8) else { return }
    check(Base64.encode(bytes) == text, "Decoded base64 is encoded differently")
}
