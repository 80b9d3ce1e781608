import TestSupport
import Testing

@testable import KCM

/// Decoding of requests as MIT's and Heimdal's clients send them: complete, truncated and damaged.
struct RequestDecodingTests {
    @Test func `the recordings cover every operation except NOOP, which no client sends`() {
        let recorded = Set(Exchange.distinct.compactMap { KCM.Operation(rawValue: $0.operation) })
        #expect(recorded == Set(KCM.Operation.allCases).subtracting([.noOperation]))
    }

    @Test(arguments: Exchange.distinct) func `a recorded request is decoded`(exchange: Exchange) throws {
        _ = try Request(bytes(exchange.request))
    }

    @Test(arguments: Exchange.distinct) func `bytes after the end of a request are ignored`(exchange: Exchange) throws {
        _ = try Request(bytes(exchange.request) + [0, 0xFF])
    }

    @Test(arguments: Exchange.distinct) func `a request truncated at any byte is refused`(exchange: Exchange) {
        let whole = bytes(exchange.request)
        for length in 4..<whole.count {
            #expect(code(of: Array(whole.prefix(length))) == .malformed, "\(length) bytes")
        }
    }

    @Test(arguments: Exchange.distinct) func `a length of four gigabytes at any offset does not crash the decoder`(exchange: Exchange) {
        let whole = bytes(exchange.request)
        guard whole.count >= 8 else { return }
        for place in 4...whole.count - 4 {
            var damaged = whole
            damaged.replaceSubrange(place..<place + 4, with: [0xFF, 0xFF, 0xFF, 0xFF])
            _ = code(of: damaged)
        }
    }

    @Test(arguments: Exchange.distinct) func `a randomly damaged request does not crash the store`(exchange: Exchange) {
        var generator = SeededGenerator(seed: UInt64(exchange.request.count))
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
    func `an unknown operation is reported as unsupported, so that libkrb5 falls back`(number: UInt16) {
        #expect(code(of: [2, 0, UInt8(number >> 8), UInt8(number & 0xFF)]) == .unsupported)
    }

    @Test(arguments: [0, 1, 3, 255] as [UInt8]) func `a request with another major version gets no reply`(major: UInt8) {
        #expect(throws: RequestError.unsupportedVersion(major)) { try Request([major, 0, 0, 20]) }
        #expect(RequestError.unsupportedVersion(major).replyCode == nil)
    }

    @Test(arguments: [[], [2], [2, 0], [2, 0, 0]] as [[UInt8]]) func `a frame too short for an operation code is refused`(frame: [UInt8]) {
        #expect(throws: RequestError.self) { try Request(frame) }
    }

    @Test func `the minor version is ignored`() throws { _ = try Request([2, 7, 0, 20]) }

    @Test func `an impossible number of credentials is refused`() {
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
