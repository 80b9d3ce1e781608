import Foundation
import Testing

@testable import Kerberos

/// One message to several addresses at once.
struct DatagramSurveyTests {
    /// A UDP port of a loopback address that answers with what it gets, or never.
    private final class Responder: Sendable {
        let descriptor: Int32
        let port: UInt16

        struct Failure: Error {}

        init(_ address: String, port: UInt16 = 0) throws {
            descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            inet_pton(AF_INET, address, &name.sin_addr)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let status = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                    bind(descriptor, name, length) == 0 ? getsockname(descriptor, name, &length) : -1
                }
            }
            guard status == 0 else { throw Failure() }
            self.port = UInt16(bigEndian: name.sin_port)
        }

        deinit { close(descriptor) }

        /// Answers after this many messages.
        func answer(after count: Int = 1) {
            let descriptor = dup(descriptor)
            Thread.detachNewThread {
                defer { close(descriptor) }
                for number in 1...count {
                    var buffer = [UInt8](repeating: 0, count: 512)
                    var name = sockaddr_in()
                    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                    withUnsafeMutablePointer(to: &name) { pointer in
                        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                            let received = recvfrom(descriptor, &buffer, buffer.count, 0, name, &length)
                            if number == count, received > 0 { _ = sendto(descriptor, buffer, received, 0, name, length) }
                        }
                    }
                }
            }
        }
    }

    private let addresses = (1...3).map { "127.\(Int.random(in: 64...126)).\(Int.random(in: 0...255)).\($0)" }

    private func survey(_ port: UInt16, limit: Duration = .seconds(60), _ accepting: ([UInt8]) -> Bool = { _ in true }) -> [Int] {
        DatagramSurvey.replies(to: [1, 2, 3], from: addresses, port: port, within: limit, accepting: accepting).map(\.index)
    }

    @Test func `silent and closed addresses do not delay the others`() throws {
        let silent = try Responder(addresses[0])
        let second = try Responder(addresses[1], port: silent.port)
        second.answer()
        // The third address is closed.
        let start = ContinuousClock.now
        #expect(survey(silent.port) == [1])
        #expect(start.duration(to: .now) < .seconds(60))
    }

    @Test func `the message is sent again if it was lost`() throws {
        let first = try Responder(addresses[0])
        first.answer(after: 2)
        #expect(survey(first.port, limit: .seconds(12)) == [0])
    }

    @Test func `a survey ends at once if nothing listens anywhere`() throws {
        let port = try Responder("127.0.0.1").port
        let start = ContinuousClock.now
        #expect(survey(port) == [])
        #expect(start.duration(to: .now) < .seconds(60))
    }

    @Test func `a survey ends at its limit`() throws {
        let silent = try Responder(addresses[0])
        let start = ContinuousClock.now
        #expect(survey(silent.port, limit: .milliseconds(300)) == [])
        #expect(start.duration(to: .now) >= .milliseconds(300))
    }

    @Test func `a reply that is not accepted does not count`() throws {
        let first = try Responder(addresses[0])
        first.answer()
        #expect(survey(first.port, limit: .milliseconds(200)) { _ in false } == [])
    }

    @Test func `a reply that is not accepted does not hide a later one from the same address`() throws {
        let first = try Responder(addresses[0])
        // The message is sent again after the first reply.
        first.answer()
        first.answer(after: 1)
        var count = 0
        let replies = survey(first.port) { _ in
            count += 1
            return count == 2
        }
        #expect(replies == [0] && count == 2)
    }

    @Test func `a text that is no address is ignored`() {
        #expect(
            DatagramSurvey.replies(to: [1], from: ["", "kdc.test", "::g"], port: 9, within: .seconds(60), accepting: { _ in true }) == []
        )
    }
}
