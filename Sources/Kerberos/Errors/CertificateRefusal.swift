internal import CKerberos

/// Why a sign-in with a certificate was refused: an error code of PKINIT (RFC 4556 section 3.1.3), or libkrb5's own check.
struct CertificateRefusal {
    /// What failed, as the start of a sentence.
    let reason: String
    /// What to do, in sentences.
    let advice: String

    private init(_ reason: String, _ advice: String) {
        self.reason = reason
        self.advice = advice
    }

    /// The statuses that mean that a certificate, or a signature made with its key, was refused.
    static let statuses: [Int] = [
        KRB5KDC_ERR_CLIENT_NOT_TRUSTED, KRB5KDC_ERR_KDC_NOT_TRUSTED, KRB5KDC_ERR_INVALID_SIG, KRB5KDC_ERR_DH_KEY_PARAMETERS_NOT_ACCEPTED,
        KRB5KDC_ERR_CANT_VERIFY_CERTIFICATE, KRB5KDC_ERR_INVALID_CERTIFICATE, KRB5KDC_ERR_REVOKED_CERTIFICATE,
        KRB5KDC_ERR_REVOCATION_STATUS_UNKNOWN, KRB5KDC_ERR_REVOCATION_STATUS_UNAVAILABLE, KRB5KDC_ERR_CLIENT_NAME_MISMATCH,
        KRB5KDC_ERR_KDC_NAME_MISMATCH, KRB5KDC_ERR_INCONSISTENT_KEY_PURPOSE, KRB5KDC_ERR_DIGEST_IN_CERT_NOT_ACCEPTED,
        KRB5KDC_ERR_DIGEST_IN_SIGNED_DATA_NOT_ACCEPTED,
    ].map { Int($0) }

    /// Explains a status, or the text of libkrb5's own check, which has no status of its own.
    ///
    /// - Parameter subject: The principal that signs in.
    init(_ status: krb5_error_code, text: String, subject: String) {
        self = Self.ofClient(Int(status), subject) ?? Self.ofKDC(Int(status)) ?? Self.ofOwnCheck(text) ?? .unknown
    }

    /// The whole message.
    func sentence(_ text: String) -> String { "\(reason) (\(text)). \(advice)" }

    /// Whether the KDC's code, or libkrb5's own check, says why the certificate was refused.
    static func explains(_ error: KerberosError) -> Bool {
        statuses.contains(Int(error.libraryCode)) || ofOwnCheck(error.libraryMessage) != nil
    }

    /// What is wrong with a smart card, if neither the KDC nor libkrb5's trace gives a reason.
    ///
    /// - Parameter wasAsked: Whether a PIN was given. libkrb5 asks for it as soon as it finds the card, unless the reader has a PIN pad.
    static func ofCard(wasAsked: Bool) -> String {
        wasAsked
            ? "the card accepted the PIN, but the sign-in with its certificate failed. Check that the KDC accepts the certificate, and that the "
                + "card's key may sign."
            : "the KDC offers no sign-in with certificates, or the card or its reader failed. Ask the realm's administrator whether the KDC "
                + "supports PKINIT, and check the reader: opensc-tool --list-readers"
    }

    private static let unknown = CertificateRefusal(
        "no certificate could be used",
        "Check the file, key, card and PIN, and whether the KDC accepts the certificate; no password was tried."
    )

    /// The refusals of the user's certificate.
    private static func ofClient(_ status: Int, _ subject: String) -> CertificateRefusal? {
        switch status {
        case Int(KRB5KDC_ERR_CLIENT_NOT_TRUSTED):
            CertificateRefusal(
                "the KDC does not trust the authority of the certificate for sign-ins",
                "Use a certificate of an authority that the realm accepts, or have the authority added (in Active Directory, to NTAuth)."
            )
        case Int(KRB5KDC_ERR_INVALID_SIG):
            CertificateRefusal(
                "the KDC cannot verify the signature that was made with the certificate's key",
                "Check that the key belongs to the certificate: the public key of both must be the same."
            )
        case Int(KRB5KDC_ERR_CANT_VERIFY_CERTIFICATE):
            CertificateRefusal(
                "the KDC finds no chain from the certificate to an authority that it trusts",
                "Add the intermediate certificates to the certificate's file, or have the authority added to the KDC's (pkinit_anchors)."
            )
        case Int(KRB5KDC_ERR_INVALID_CERTIFICATE):
            CertificateRefusal(
                "the certificate is not valid for the KDC, for example because it has expired",
                "Check its dates with: openssl x509 -noout -dates -in FILE; and request a new one if it has expired."
            )
        case Int(KRB5KDC_ERR_REVOKED_CERTIFICATE):
            CertificateRefusal("the certificate has been revoked", "Request a new one from your administrator.")
        case Int(KRB5KDC_ERR_REVOCATION_STATUS_UNKNOWN), Int(KRB5KDC_ERR_REVOCATION_STATUS_UNAVAILABLE):
            CertificateRefusal(
                "the KDC cannot find out whether the certificate has been revoked",
                "Ask the realm's administrator to update the KDC's revocation lists, then try again."
            )
        case Int(KRB5KDC_ERR_CLIENT_NAME_MISMATCH):
            CertificateRefusal(
                "the certificate belongs to another principal",
                "Pass the certificate of \(subject) with --certificate (certlabel=LABEL selects one of a card), or sign in as its owner."
            )
        case Int(KRB5KDC_ERR_INCONSISTENT_KEY_PURPOSE):
            CertificateRefusal(
                "the certificate is for another purpose than signing in",
                "Use one whose extended key usage permits smart-card logon or Kerberos client authentication (1.3.6.1.5.2.3.4)."
            )
        case Int(KRB5KDC_ERR_DIGEST_IN_CERT_NOT_ACCEPTED):
            CertificateRefusal(
                "the KDC does not accept the algorithm with which the certificate is signed",
                "Request a certificate that is signed with SHA-256."
            )
        default: nil
        }
    }

    /// The refusals of the exchange, or of the KDC's certificate by this machine.
    private static func ofKDC(_ status: Int) -> CertificateRefusal? {
        switch status {
        case Int(KRB5KDC_ERR_KDC_NOT_TRUSTED):
            CertificateRefusal(
                "the KDC has no certificate of an authority that this machine trusts",
                "Check the authorities in krb5.conf (pkinit_anchors)."
            )
        case Int(KRB5KDC_ERR_KDC_NAME_MISMATCH):
            CertificateRefusal(
                "the KDC's certificate is not that of a KDC of this realm",
                "Check pkinit_kdc_hostname in krb5.conf; another machine may be answering in the KDC's place."
            )
        case Int(KRB5KDC_ERR_DH_KEY_PARAMETERS_NOT_ACCEPTED):
            CertificateRefusal(
                "the KDC does not accept the size of this machine's Diffie-Hellman key",
                "Set pkinit_dh_min_bits in krb5.conf to a size that the KDC accepts, such as 2048."
            )
        case Int(KRB5KDC_ERR_DIGEST_IN_SIGNED_DATA_NOT_ACCEPTED):
            CertificateRefusal(
                "the KDC does not accept the algorithm with which libkrb5 signs the request",
                "Update libkrb5 (krb5-pkinit) on this machine, or the KDC."
            )
        default: nil
        }
    }

    /// The refusal by libkrb5's PKINIT plugin, which verifies the certificate with the authorities in krb5.conf before it is sent.
    private static func ofOwnCheck(_ text: String) -> CertificateRefusal? {
        guard text.hasPrefix("Pre-authentication failed: Failed to verify own certificate") else { return nil }
        return CertificateRefusal(
            "this machine cannot verify the certificate, so it was not sent",
            "Check its dates, and that krb5.conf lists its authority (pkinit_anchors); no password was tried."
        )
    }
}
