import Foundation
import SignOnDiagnosis
import Testing

/// The verdict and the JSON of a diagnosis.
struct DiagnosisTests {
    private static let ok = DiagnosticCheck("profile", .ok, "one profile is active.")
    private static let warning = DiagnosticCheck("kdc", .warning, "no answer over UDP.", remedy: "open the port.")
    private static let first = DiagnosticCheck("clock", .failed, "an hour apart.", remedy: "set the clock.")
    private static let second = DiagnosticCheck("token", .failed, "refused.")

    @Test func `a warning and a skipped check are not failures`() {
        let diagnosis = Diagnosis([Self.ok, Self.warning, DiagnosticCheck("host", .skipped, "no URL was given.")])
        #expect(diagnosis.isHealthy)
        #expect(diagnosis.firstFailure == nil)
    }

    @Test func `the first failed check is the cause`() {
        let diagnosis = Diagnosis([Self.ok, Self.first, Self.second])
        #expect(!diagnosis.isHealthy)
        #expect(diagnosis.firstFailure == Self.first)
    }

    @Test func `a diagnosis is encoded as the JSON of ksso doctor`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let diagnosis = Diagnosis([Self.ok, Self.first])
        let text = String(decoding: try encoder.encode(diagnosis), as: UTF8.self)
        let expected =
            #"{"checks":[{"detail":"one profile is active.","name":"profile","remedy":null,"verdict":"ok"},"#
            + #"{"detail":"an hour apart.","name":"clock","remedy":"set the clock.","verdict":"failed"}],"healthy":false}"#
        #expect(text == expected)
        #expect(try JSONDecoder().decode(Diagnosis.self, from: Data(text.utf8)) == diagnosis)
    }
}
