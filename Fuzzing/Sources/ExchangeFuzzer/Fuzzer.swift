import FuzzerSupport
import HTTPNegotiate

/// Fuzzes the exchange. The input is a setting, then calls in any order with any responses of a server.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    let setting = input.byte()
    let mutual: [MutualAuthentication] = [.required, .optional, .off]
    let exchange = NegotiateExchange(maximumLegs: Int(setting >> 4), mutualAuthentication: mutual[Int(setting & 0xF) % 3])
    var follower = ExchangeFollower(exchange)
    while !input.isEmpty {
        switch input.byte() {
        case UInt8(ascii: "s"): follower.sent()
        case UInt8(ascii: "v"): follower.verified()
        case UInt8(ascii: "d"): follower.declined()
        case let byte: follower.receive(status: status(byte), challenges: challenges(&input))
        }
    }
    follower.end()
    return 0
}

/// The relevant statuses, each as a digit, and some others.
private func status(_ byte: UInt8) -> Int {
    let statuses = [200, 401, 407, 400, 403, 413, 431, 500, 302, 204]
    return byte >= 0x30 && byte <= 0x39 ? statuses[Int(byte - 0x30)] : Int(byte) * 5 - 300
}

/// A letter for each usual set of challenges, anything else for arbitrary fields.
private func challenges(_ input: inout Input) -> [String] {
    switch input.byte() {
    case UInt8(ascii: "n"): ["Negotiate"]
    case UInt8(ascii: "t"): ["Negotiate Zm9v"]
    case UInt8(ascii: "g"): ["Negotiate ***"]
    case UInt8(ascii: "o"): ["NTLM", "Basic realm=\"x, Negotiate\""]
    case UInt8(ascii: "0"): []
    case UInt8(ascii: "2"): [input.text(), input.text()]
    default: [input.text()]
    }
}
