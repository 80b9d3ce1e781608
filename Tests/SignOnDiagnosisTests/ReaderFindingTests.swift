import SmartCardReaders
import Testing

@testable import SignOnDiagnosis

/// What the doctor says about the readers when no smart card was found.
struct ReaderFindingTests {
    private struct Finding: CustomTestStringConvertible, Sendable {
        let readers: Result<[SmartCardReader], SmartCardServiceError>
        let sentence: String
        /// The beginning of the remedy.
        let remedy: String

        var testDescription: String { sentence }

        init(_ readers: Result<[SmartCardReader], SmartCardServiceError>, _ sentence: String, _ remedy: String) {
            (self.readers, self.sentence, self.remedy) = (readers, sentence, remedy)
        }
    }

    private static func readers(_ readers: (String, Bool)...) -> Result<[SmartCardReader], SmartCardServiceError> {
        .success(readers.map { SmartCardReader(name: $0.0, hasCard: $0.1, changes: 0) })
    }

    private static let unknown = "Whether one is inserted is unknown:"
    private static let insert = "Insert the card. If it is inserted:"

    @Test(arguments: [
        Finding(readers(), "No smart card reader is attached.", "Attach the reader"),
        Finding(readers(("A", false)), "There is no card in the reader A.", "Insert the card."),
        Finding(readers(("A\u{1B}", false), ("B", false)), "There is no card in the readers A\\u{1b}, B.", "Insert the card."),
        Finding(readers(("A", false), ("B", true)), "There is a card in the reader B.", "Check that SETTINGS names its module"),
        Finding(.failure(.libraryMissing), "\(unknown) PC/SC lite is not installed.", "\(insert) Install it: "),
        Finding(.failure(.noAnswer), "\(unknown) the smart card service (pcscd) does not answer.", "\(insert) Install pcscd, or start it"),
        Finding(.failure(.forbidden), "\(unknown) the smart card service (pcscd) refuses this user.", "\(insert) Sign in at the machine"),
        Finding(.failure(.failed("no memory")), "\(unknown) the smart card service (pcscd) failed: no memory.", "\(insert) Restart it"),
    ])
    private func `the finding names what is missing and what to do`(_ finding: Finding) {
        let found = ReaderFinding(finding.readers, settings: "SETTINGS")
        #expect(found.sentence == finding.sentence && found.remedy.hasPrefix(finding.remedy), "\(found)")
    }
}
