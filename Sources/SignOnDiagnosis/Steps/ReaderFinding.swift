internal import SmartCardReaders

/// Why no smart card may have been found, as far as the readers of this machine show it.
struct ReaderFinding {
    /// A sentence about the readers; nil if nothing is known about them.
    let sentence: String?
    /// What to do.
    let remedy: String

    /// - Parameters:
    ///   - readers: The readers, or why they are not known.
    ///   - settings: The settings that name the card.
    init(_ readers: Result<[SmartCardReader], SmartCardServiceError>, settings: String) {
        let naming = "that \(settings) names its module and its token (PKCS11:module_name=FILE:token=LABEL)."
        switch readers {
        case .success([]): (sentence, remedy) = ("No smart card reader is attached.", "Attach the reader, and insert the card.")
        case .success(let readers):
            let names = readers.map(\.name)
            guard let full = readers.first(where: \.hasCard) else {
                (sentence, remedy) = ("No card is in the reader \(names.joined(separator: ", ")).", "Insert the card.")
                return
            }
            sentence = "A card is in the reader \(full.name)."
            remedy = "Check \(naming)"
        case .failure(.libraryMissing):
            sentence = nil
            remedy = "Insert the card. If it is inserted, check the reader (opensc-tool --list-readers), and \(naming)"
        case .failure(.notRunning):
            sentence = "The service of the smart card readers does not answer."
            remedy = "Install pcscd, or start it: systemctl start pcscd.socket"
        case .failure(.forbidden):
            sentence = "The service of the smart card readers refuses this user."
            remedy = "Sign in at the machine itself, or permit the polkit action org.debian.pcsc-lite.access_pcsc to the user."
        case .failure(.failed(let reason)):
            sentence = "The service of the smart card readers failed: \(reason)"
            remedy = "Restart it: systemctl restart pcscd.service"
        }
    }
}
