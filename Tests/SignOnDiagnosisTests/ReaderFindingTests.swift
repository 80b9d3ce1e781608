import SmartCardReaders
import Testing

@testable import SignOnDiagnosis

/// What the doctor says about the readers when no smart card was found.
struct ReaderFindingTests {
    private struct Finding: CustomTestStringConvertible, Sendable {
        let readers: Result<[SmartCardReader], SmartCardServiceError>
        let sentence: String?
        /// The beginning of the remedy.
        let remedy: String

        var testDescription: String { sentence ?? "nothing is known" }

        init(_ readers: Result<[SmartCardReader], SmartCardServiceError>, _ sentence: String?, _ remedy: String) {
            (self.readers, self.sentence, self.remedy) = (readers, sentence, remedy)
        }
    }

    private static func readers(_ readers: (String, Bool)...) -> Result<[SmartCardReader], SmartCardServiceError> {
        .success(readers.map { SmartCardReader(name: $0.0, hasCard: $0.1, changes: 0) })
    }

    @Test(arguments: [
        Finding(readers(), "No smart card reader is attached.", "Attach the reader"),
        Finding(readers(("A", false), ("B", false)), "No card is in the reader A, B.", "Insert the card."),
        Finding(readers(("A", false), ("B", true)), "A card is in the reader B.", "Check that SETTINGS names its module"),
        Finding(.failure(.libraryMissing), nil, "Insert the card. If it is inserted, check the reader"),
        Finding(.failure(.notRunning), "The service of the smart card readers does not answer.", "Install pcscd, or start it"),
        Finding(.failure(.forbidden), "The service of the smart card readers refuses this user.", "Sign in at the machine itself"),
        Finding(.failure(.failed("Internal error.")), "The service of the smart card readers failed: Internal error.", "Restart it"),
    ])
    private func `the finding names what is missing and what to do`(_ finding: Finding) {
        let found = ReaderFinding(finding.readers, settings: "SETTINGS")
        #expect(found.sentence == finding.sentence && found.remedy.hasPrefix(finding.remedy), "\(found)")
    }
}
