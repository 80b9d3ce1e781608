import TestSupport
import Testing

@testable import KerberosEngine

/// Pauses after attempts, with a clock that the test moves.
struct PausesTests {
    private let clock = ManualClock()

    @Test func `a pause has its reason until it ends`() {
        let pauses = Pauses<String, String>(clock: { [clock] in clock.now })
        #expect(pauses.reason(for: "a") == nil)
        pauses.begin("a", because: "refused", seconds: 300)
        #expect(pauses.reason(for: "a") == "refused" && pauses.reason(for: "b") == nil)
        clock.advance(by: 200)
        pauses.begin("b", because: "unreachable", seconds: 300)
        #expect(pauses.reason(for: "a") == "refused")
        clock.advance(by: 200)
        #expect(pauses.reason(for: "a") == nil && pauses.reason(for: "b") == "unreachable")
    }

    @Test func `a new pause replaces the key's present one`() {
        let pauses = Pauses<String, Void>(clock: { [clock] in clock.now })
        pauses.begin("a", seconds: 300)
        pauses.begin("a", seconds: 0)
        #expect(!pauses.isPaused("a"))
        pauses.begin("a", seconds: 300)
        pauses.end("a")
        #expect(!pauses.isPaused("a"))
    }
}
