import TestSupport
import Testing

/// Random histories of sign-ins, sign-outs, renewals, faults and kills against the agent's schedule.
@Suite struct ScheduleModelTests {
    /// Each hundred seeds are one case, so that a failure names a seed.
    @Test(.computation, .serialized, arguments: 0..<8) func `no history breaks a rule of renewals and sign-outs`(hundred: Int) {
        for seed in hundred * 100..<(hundred + 1) * 100 {
            var model = ScheduleModel(seed: UInt64(seed))
            model.run(steps: 120)
            model.recover()
            #expect(model.violations.isEmpty, "seed \(seed)")
            guard model.violations.isEmpty else { return }
        }
    }
}
