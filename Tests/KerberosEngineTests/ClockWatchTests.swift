import TestSupport
import Testing

@testable import KerberosEngine

@Suite struct ClockWatchTests {
    /// In seconds: by how much the clock was put forward, what had been learned, what is left of it.
    @Test(
        arguments: [
            (3600, 3600, 0), (-3600, -3600, 0), (3600, 3605, 5), (11, 3600, 3589), (-11, 3600, 3600), (28_800, 0, 0), (28_800, 1, 0),
            (-7200, 200, 0), (40, 0, 0),
        ] as [(Double, Double, Double)]
    )
    func `an offset is corrected by the step`(seconds: Double, former: Double, expected: Double) throws {
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
}
