import SignOnDiagnosis
import SignOnPolicy
import Testing

/// For each set-up with one fault, the doctor's first failed check reports the cause.
@Suite(.causeScore)
struct DoctorCauseTests {
    @Test(arguments: BrokenSetUp.possible) func `the first failed check reports the cause`(setUp: BrokenSetUp) async throws {
        let diagnosis = try await setUp.diagnose()
        let first = try #require(diagnosis.firstFailure, "\(diagnosis.checks)")
        let isReported = first.name == setUp.check && setUp.words.allSatisfy { first.detail.contains($0) }
        #expect(isReported, "\(first)")
        if isReported { CauseScore.current?.note(setUp.cause) }
    }

    @Test func `there are 36 distinct causes`() {
        #expect(BrokenSetUp.all.count == 36)
        #expect(Set(BrokenSetUp.all.map(\.cause)).count == 36)
    }
}
