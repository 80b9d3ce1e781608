import Foundation
import Testing

@testable import SSOAgentClient

/// How events are read from the bytes of the event stream.
@Suite struct AgentEventLineTests {
    private static let event = "data: {\"kind\":\"signedOut\",\"realm\":\"EXAMPLE.TEST\",\"date\":\"2026-01-01T00:00:00Z\"}\n\n"

    /// Returns the kinds of the events, and whether the stream can continue.
    private func read(_ text: String, step: Int) -> (kinds: [String], isWhole: Bool) {
        var (lines, kinds) = (AgentEventLines(), [String]())
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            let part = bytes[start..<min(start + step, bytes.count)]
            guard lines.read(part, { kinds.append($0.kind.rawValue) }) else { return (kinds, false) }
        }
        return (kinds, true)
    }

    @Test(arguments: [1, 7, 100, 1000]) func `events are the same however their bytes arrive`(step: Int) {
        let result = read(Self.event + ": comment\n\ndata: {\"kind\":5}\n\n" + Self.event, step: step)
        #expect(result.kinds == ["signedOut", "signedOut"] && result.isWhole)
    }

    @Test(arguments: [1, 4096, 200_000]) func `a line that is too long ends the stream however its bytes arrive`(step: Int) {
        let longest = ":" + String(repeating: "x", count: 65_535) + "\n"
        #expect(read(longest + Self.event, step: step).kinds == ["signedOut"])
        let result = read(Self.event + "x" + longest + Self.event, step: step)
        #expect(result.kinds == ["signedOut"] && !result.isWhole)
    }
}
