/// What libkrb5's PKINIT plugin found on a card or in files during a sign-in, from the lines of its trace. Its error code is the same for
/// all of it.
struct CertificateSearch: Sendable, Hashable {
    /// Why there was no certificate to sign in with.
    enum Fault: Sendable, Hashable {
        /// The card's module cannot be loaded. The text is libkrb5's, with that of dlopen(3).
        case unloadable(String)
        /// The card's module is a library without the functions of one.
        case noModule
        /// The module shows no card: no reader has one, or the module could not be used.
        case noCard
        /// Cards with these labels are inserted, but none is the one that the setting names, or it has no certificate that the setting
        /// names.
        case noneOnCards([String])
        /// The card was not unlocked. The text is libkrb5's for the card's status.
        case locked(String)
        /// libkrb5 cannot read the names in one of the certificates, and therefore uses none.
        case unreadable
        /// No rule selects one certificate. The subjects are those of the certificates that ``CertificateSelection`` permits; empty if the
        /// rules are others, or if it permits none.
        case undecided([String])
    }

    /// The first fault since the module was last opened; nil if there was none, or if it has no line in the trace.
    private(set) var fault: Fault?
    /// The subjects of the certificates that the last rule of ``CertificateSelection`` matched, by libkrb5's number.
    private var subjects: [Int: String] = [:]
    /// The labels of the cards by slot; nil if no module was loaded.
    private var cards: [String: String]?
    /// Whether a rule is being compared with the certificates, for which libkrb5 reads the names in all of them.
    private var isMatching = false

    /// Reads a line of the trace: `[process] time: message`. Names in it are foreign text, so a message is recognized by its start.
    mutating func receive(_ line: String) {
        guard let start = line.firstRange(of: ": ") else { return }
        let message = line[start.upperBound...].prefix { !$0.isNewline }
        guard message.hasPrefix("PKINIT ") else { return }
        // libkrb5 looks at a card twice, before and after the question for the PIN.
        if message.hasPrefix("PKINIT opening PKCS#11 module") { (fault, cards) = (nil, [:]) }
        guard fault == nil else { return }
        if let match = message.prefixMatch(of: /PKINIT matched SUBJECT rule '\.\*' with value '(.*)' in cert #(\d+)/) {
            subjects[Int(match.2) ?? subjects.count] = String(match.1).escapedForDisplay(limit: 100)
        } else if let match = message.prefixMatch(of: /PKINIT PKCS#11 slotid (\d+) token (.*)/) {
            cards?[String(match.1)] = String(match.2).escapedForDisplay(limit: 32)
        } else if message.hasPrefix("PKINIT client matching rule") {
            isMatching = true
        } else if message.hasPrefix("PKINIT client checked") {
            isMatching = false
        } else {
            fault = fault(of: message)
        }
    }

    private func fault(of message: Substring) -> Fault? {
        if let match = message.prefixMatch(of: /PKINIT PKCS(?:#11 module open|11 C_GetFunctionList) failed: (.*)/) {
            .unloadable(String(match.1).escapedForDisplay(limit: 200))
        } else if message.hasPrefix("PKINIT unable to find PKCS11 plugin symbol") {
            .noModule
        } else if message.hasPrefix("PKINIT PKCS#11 module shows no slots with tokens") {
            .noCard
        } else if message.hasPrefix("PKINIT PKCS#11 module has no matching tokens") {
            .noneOnCards(labels)
        } else if let match = message.prefixMatch(of: /PKINIT PKCS11 C_Login failed: (.*)/) {
            .locked(String(match.1).escapedForDisplay(limit: 100))
        } else if message.hasPrefix("PKINIT no matching certificate found") {
            .undecided(subjects.values.sorted())
        } else if message.hasPrefix("PKINIT client has no configured identity") {
            isMatching ? .unreadable : cards.map { $0.isEmpty ? .noCard : .noneOnCards(labels) }
        } else {
            nil
        }
    }

    private var labels: [String] { cards?.values.sorted() ?? [] }
}

extension CertificateSearch.Fault {
    /// What happened and what to do, after the principal's name.
    ///
    /// - Parameters:
    ///   - isCard: Whether the certificate is on a card.
    ///   - hasFilter: Whether the profile restricts the issuers.
    func sentence(isCard: Bool, hasFilter: Bool) -> String {
        let setting = "the certificate's setting (PKCS11:module_name=FILE:token=LABEL)"
        let list = "pkcs11-tool --module FILE --list-objects --type cert"
        return switch self {
        case .unloadable(let reason): "the module of the smart card cannot be loaded (\(reason)). Install it, or correct \(setting)."
        case .noModule: "the file that module_name names is no module of a smart card (PKCS #11). Correct \(setting)."
        case .noCard:
            "no smart card was found. Insert the card, and check its reader. If it is inserted, check the configuration of its module, and "
                + "whether another sign-in is using it."
        case .noneOnCards(let labels):
            "no certificate was found on the smart card (\(labels.joined(separator: ", "))): it is not the card in \(setting), or it has no "
                + "certificate with its certlabel or certid. Insert the right card, or list the certificates with: \(list)"
        case .locked(let reason) where reason.hasPrefix("pin "): "the card refused the PIN (\(reason)). Check the PIN, which was sent once."
        case .locked(let reason): "the card was not unlocked (\(reason)). Try again when no other sign-in is using it."
        case .unreadable:
            "libkrb5 cannot read the alternative names in one of the certificates. Use another certificate"
                + (isCard ? ": add :certlabel=LABEL or :certid=ID to the identity, as printed by: \(list)" : ".")
        case .undecided(let subjects) where subjects.isEmpty:
            hasFilter
                ? "no certificate has an issuer that matches identityIssuerAutoSelectFilter in the profile. Use another certificate, or have "
                    + "the filter corrected."
                : "none of the certificates, or more than one, matches pkinit_cert_match in krb5.conf. Correct it."
        case .undecided(let subjects):
            "several certificates match: \(subjects.joined(separator: "; ")). Sign in with the name in one of them, such as "
                + "alice@mail.example, or select one: "
                + (isCard
                    ? "add :certlabel=LABEL or :certid=ID to the identity, as printed by: \(list)"
                    : "pass its files as FILE:CERTIFICATE,KEY.")
        }
    }
}
