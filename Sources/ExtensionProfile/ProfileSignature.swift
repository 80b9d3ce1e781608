public import Foundation
internal import HTTPNegotiate

/// Who signed a profile (CMS SignedData, RFC 5652), and whether that counts. The signature itself matches: a file with another is refused.
public struct ProfileSignature: Sendable, Hashable {
    /// Somebody who signed, by the certificate.
    public struct Signer: Sendable, Hashable {
        /// The certificate's subject, as RFC 2253 writes it.
        public let subject: String
        /// Who issued the certificate.
        public let issuer: String
        /// From when the certificate holds.
        public let validFrom: Date
        /// Until when the certificate holds.
        public let validUntil: Date
        /// Whether the certificate is one that the policy names.
        var isAnchor = false
    }

    /// Whether the signers' certificates lead to an anchor: one that ``ProfilePolicy`` names, or where it names none, one of the system's.
    public enum Trust: Sendable, Hashable {
        /// They do.
        case trusted
        /// They did when, as the signature says, it was made; by now a certificate has expired.
        case trustedWhenSigned(Date)
        /// They would, but a certificate has expired, and the signature does not say that it is older.
        case expired
        /// They do not; the text says why.
        case untrusted(reason: String)
    }

    /// Who signed; at least one.
    public let signers: [Signer]
    /// Whether that counts.
    public let trust: Trust

    /// Whether a machine that wants signed profiles takes this one.
    public var isTrusted: Bool {
        switch trust {
        case .trusted: true
        // The signer writes the date, so an authority's word that is no longer given is none; an anchor is the administrator's own word.
        case .trustedWhenSigned: signers.allSatisfy(\.isAnchor)
        case .expired, .untrusted: false
        }
    }
}

extension ProfileSignature: CustomStringConvertible {
    /// Signers and verdict on one line.
    public var description: String {
        let names = signers.map { "\($0.subject), issued by \($0.issuer), until \($0.validUntil.localText)" }
        return "signed by \(names.joined(separator: "; and by ")): \(trust)"
    }
}

extension ProfileSignature.Trust: CustomStringConvertible {
    /// The verdict in words.
    public var description: String {
        switch self {
        case .trusted: "trusted"
        case .trustedWhenSigned(let date): "trusted at the time of signing, \(date.localText)"
        case .expired: "not trusted: a certificate has expired"
        case .untrusted(let reason): "not trusted: \(reason)"
        }
    }
}
