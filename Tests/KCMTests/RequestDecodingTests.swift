import Testing

@testable import KCM

/// Requests as MIT's and Heimdal's clients send them, whole, cut off and damaged.
struct RequestDecodingTests {
    @Test func `every operation is recorded but the one that nobody sends`() {
        let recorded = Set(Exchange.distinct.compactMap { KCM.Operation(rawValue: $0.operation) })
        #expect(recorded == Set(KCM.Operation.allCases).subtracting([.noOperation]))
    }

    @Test(arguments: Exchange.distinct) func `a recorded request is read`(exchange: Exchange) throws {
        _ = try Request(bytes(exchange.request))
    }

    @Test(arguments: Exchange.distinct) func `bytes behind a request are no matter`(exchange: Exchange) throws {
        _ = try Request(bytes(exchange.request) + [0, 0xFF])
    }

    @Test(arguments: Exchange.distinct) func `a request cut off anywhere is refused`(exchange: Exchange) {
        let whole = bytes(exchange.request)
        for length in 4..<whole.count {
            #expect(code(of: Array(whole.prefix(length))) == .malformed, "\(length) bytes")
        }
    }

    @Test(arguments: Exchange.distinct) func `a length of four gigabytes anywhere is read without a trap`(exchange: Exchange) {
        let whole = bytes(exchange.request)
        guard whole.count >= 8 else { return }
        for place in 4...whole.count - 4 {
            var damaged = whole
            damaged.replaceSubrange(place..<place + 4, with: [0xFF, 0xFF, 0xFF, 0xFF])
            _ = code(of: damaged)
        }
    }

    @Test(arguments: Exchange.distinct) func `any damage is read without a trap`(exchange: Exchange) {
        var generator = SplitMix(state: UInt64(exchange.request.count))
        let whole = bytes(exchange.request)
        for _ in 0..<200 where whole.count > 4 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                damaged[Int.random(in: 4..<damaged.count, using: &generator)] = .random(in: .min ... .max, using: &generator)
            }
            var client = Client.signedIn()
            _ = client.send(damaged)
        }
    }

    @Test(arguments: [1, 2, 13, 14, 15, 16, 24, 28, 29, 12_999, 13_000, 13_003, 65_535] as [UInt16])
    func `an unknown operation is answered so that the client does without`(number: UInt16) {
        #expect(code(of: [2, 0, UInt8(number >> 8), UInt8(number & 0xFF)]) == .unsupported)
    }

    @Test(arguments: [0, 1, 3, 255] as [UInt8]) func `another version ends the connection`(major: UInt8) {
        #expect(throws: RequestError.unsupportedVersion(major)) { try Request([major, 0, 0, 20]) }
        #expect(RequestError.unsupportedVersion(major).replyCode == nil)
    }

    @Test(arguments: [[], [2], [2, 0], [2, 0, 0]] as [[UInt8]]) func `less than an operation is refused`(frame: [UInt8]) {
        #expect(throws: RequestError.self) { try Request(frame) }
    }

    @Test func `a minor version is no matter`() throws { _ = try Request([2, 7, 0, 20]) }

    @Test func `a number of credentials that cannot be is refused`() {
        var body = replacement([Sample.ticket(1)])
        let place = 4 + Sample.alice.count
        body.replaceSubrange(place..<place + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
        var client = Client()
        #expect(client.send(.replace, "a", body).code == .malformed)
        #expect(client.store.caches.isEmpty)
    }

    private func code(of frame: [UInt8]) -> ReplyCode? {
        do throws(RequestError) {
            _ = try Request(frame)
            return .ok
        } catch {
            return error.replyCode
        }
    }
}

/// Numbers that come again, so that a failure does too.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
