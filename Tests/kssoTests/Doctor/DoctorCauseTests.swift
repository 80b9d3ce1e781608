import HTTPNegotiate
import Testing

/// Set-ups that are broken in one place each: the doctor's first failed line names it.
@Suite(.causeScore)
struct DoctorCauseTests {
    @Test(arguments: BrokenSetUp.possible) func `the first failure names the cause`(setUp: BrokenSetUp) async throws {
        let diagnosis = try await setUp.diagnose()
        let first = try #require(diagnosis.firstFailure, "\(diagnosis.checks)")
        let isNamed = first.name == setUp.check && setUp.words.allSatisfy { first.detail.contains($0) }
        #expect(isNamed, "\(first)")
        if isNamed { CauseScore.current?.note(setUp.cause) }
    }

    @Test func `there are twenty`() {
        #expect(BrokenSetUp.all.count == 20)
        #expect(Set(BrokenSetUp.all.map(\.cause)).count == 20)
    }
}
