/// Which certificates come into question, as libkrb5's PKINIT plugin is told it (`pkinit_cert_match`).
package enum CertificateFilter {
    /// The rule for a wildcard over the issuer's name (RFC 2253): `*` is any characters, `?` is one, and the whole name must match.
    package static func rule(issuer wildcard: String) -> String {
        // POSIX extended regular expressions; in brackets a character stands for itself, but for the caret.
        let pattern = wildcard.map { character in
            switch character {
            case "*": ".*"
            case "?": "."
            case "^", "\\": "\\\(character)"
            case _ where character.isLetter || character.isNumber || " =,-_".contains(character): String(character)
            default: "[\(character)]"
            }
        }
        return "<ISSUER>^\(pattern.joined())$"
    }
}
