internal import SmartCardReaders
internal import SystemSupport

/// Why no smart card may have been found, as far as the readers of this machine show it.
struct ReaderFinding {
    /// A sentence about the readers.
    let sentence: String
    /// What to do.
    let remedy: String

    /// - Parameters:
    ///   - readers: The readers, or why they are not known.
    ///   - settings: The settings that name the card.
    init(_ readers: Result<[SmartCardReader], SmartCardServiceError>, settings: String) {
        switch readers {
        case .success([]): (sentence, remedy) = ("No smart card reader is attached.", "Attach the reader, and insert the card.")
        case .success(let readers):
            let full = readers.filter(\.hasCard)
            let names = (full.isEmpty ? readers : full).map { $0.name.escapedForDisplay(limit: 100) }.joined(separator: ", ")
            let place = "the \((full.isEmpty ? readers : full).count == 1 ? "reader" : "readers") \(names)"
            if full.isEmpty {
                (sentence, remedy) = ("There is no card in \(place).", "Insert the card.")
            } else {
                sentence = "There is a card in \(place)."
                remedy = "Check that \(settings) names its module and its token (PKCS11:module_name=FILE:token=LABEL)."
            }
        case .failure(let error):
            sentence = "Whether one is inserted is unknown: \(error.reason)."
            remedy = "Insert the card. If it is inserted: " + error.remedy
        }
    }
}
