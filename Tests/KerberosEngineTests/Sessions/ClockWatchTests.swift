import TestSupport
import Testing

@testable import KerberosEngine

/// The detection of steps of the machine's clock, and the correction of a known offset.
@Suite struct ClockWatchTests {
    /// In seconds: how far the clock was moved forward, the offset known before, the offset expected after.
    @Test(
        arguments: [
            (3600, 3600, 0), (-3600, -3600, 0), (3600, 3605, 5), (11, 3600, 3589), (-11, 3600, 3600), (28_800, 0, 0), (28_800, 1, 0),
            (-7200, 200, 0), (40, 0, 0),
        ] as [(Double, Double, Double)]
    )
    func `a step of the clock corrects the known offset`(seconds: Double, former: Double, expected: Double) throws {
        let clock = ManualClock()
        let start = ContinuousClock.now
        let watch = ClockWatch(wall: { clock.now }, uptime: { (ContinuousClock.now - start) / .seconds(1) })
        #expect(watch.step == nil)
        clock.advance(by: seconds)
        let step = try #require(watch.step)
        #expect(step.offset(after: former) == expected)
        watch.settle(step)
        #expect(watch.step == nil)
        clock.advance(by: 5)
        #expect(watch.step == nil)
    }

    @Test func `the machine's clock is watched unless the caller supplies another clock`() throws {
        let uptime = try #require(KerberosExtension.Options(configurations: []).uptime)
        let first = uptime()
        #expect(uptime() >= first)
        #expect(KerberosExtension.Options(configurations: [], clock: { ManualClock().now }).uptime == nil)
    }
}
