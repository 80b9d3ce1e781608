/// Selects one of several certificates of a card, a folder or a file, in the syntax of libkrb5's PKINIT plugin (`pkinit_cert_match`).
///
/// Without rules, libkrb5 refuses to choose: a usual smart card has certificates for signing and encrypting mail, too.
struct CertificateSelection: Sendable, Hashable {
    /// The principal that signs in.
    let owner: Principal
    /// The issuers whose certificates may be used, with `*` for any characters and `?` for one; nil is any.
    var issuer: String?

    /// The rules in the order in which libkrb5 tries them. It takes the certificate of the first rule that exactly one of them matches.
    ///
    /// A certificate that names the owner comes first, and of these one that is for signing in. A certificate need not name its owner,
    /// because a KDC may have another way to map it, so the purpose decides next; a single certificate is always taken. Rules have no
    /// negation: if several certificates name the owner and none of them is selected, the purpose may select another owner's, which the KDC
    /// then refuses. In a certificate that has both kinds of names, libkrb5 1.20 compares only the user principal names.
    var rules: [String] {
        let owner = "<SAN>^\(Self.anyCase(name))$"
        let purposes = ["<EKU>msScLogin", "<EKU>pkinit", "<EKU>clientAuth"]
        let issuer = issuer.map { "<ISSUER>^\(Self.pattern($0))$" } ?? ""
        return (purposes.map { owner + $0 } + [owner] + purposes + [Self.anySubject]).map { "&&\(issuer)\($0)" }
    }

    /// Every certificate matches it, so that libkrb5's trace has the name of each; see ``CertificateSearch``.
    private static let anySubject = "<SUBJECT>.*"

    /// The owner's name in a certificate: of an enterprise name the user principal name, which is its only component.
    private var name: String { owner.isEnterpriseName ? owner.components[0] : owner.description }

    /// A POSIX extended regular expression for a name in any case, because Active Directory compares names so.
    private static func anyCase(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            let isLetter = scalar.isASCII && scalar.properties.isAlphabetic
            return isLetter ? "[\(scalar.properties.lowercaseMapping)\(scalar.properties.uppercaseMapping)]" : literal(scalar)
        }.joined()
    }

    private static func pattern(_ wildcard: String) -> String {
        wildcard.unicodeScalars.map { scalar in
            switch scalar {
            case "*": ".*"
            case "?": "."
            default: literal(scalar)
            }
        }.joined()
    }

    /// A scalar without a special meaning. A Character could be a special one together with a mark that follows or precedes it, and
    /// regcomp(3) reads bytes: in brackets, those of one scalar would be several characters.
    private static func literal(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        // In brackets every character except the caret is literal.
        case "^", "\\": "\\\(scalar)"
        case _ where !scalar.isASCII || scalar.properties.isAlphabetic || "0123456789 =,-_".unicodeScalars.contains(scalar): String(scalar)
        default: "[\(scalar)]"
        }
    }
}

extension KerberosClient {
    /// Whether libkrb5's plugin for certificates (PKINIT) is installed.
    package func supportsCertificates() async throws(KerberosError) -> Bool {
        try await perform { context throws(KerberosError) in LibraryPlugin.pkinit.isAvailable(in: context) }
    }

    /// The certificate that krb5.conf names (`pkinit_identities`); nil if it names none.
    public func configuredCertificate() async throws(KerberosError) -> String? {
        try await perform { [realm = configuration.realm] context throws(KerberosError) in
            let places = [["libdefaults", realm], ["realms", realm], ["libdefaults"]]
            for place in places {
                if let identity = try context.values(place + ["pkinit_identities"]).first { return identity }
            }
            return nil
        }
    }
}

extension InitialCredentialSource {
    /// Whether it names a smart card.
    var isCard: Bool { if case .certificate(let identity?, _) = self { Self.isCard(identity) } else { false } }

    /// Whether a certificate in libkrb5's syntax is on a smart card.
    package static func isCard(_ identity: String) -> Bool { identity.utf8.starts(with: "PKCS11:".utf8) }
}
