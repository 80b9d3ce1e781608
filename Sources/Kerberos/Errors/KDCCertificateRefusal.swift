internal import CKerberos
internal import SystemSupport

/// Why libkrb5's PKINIT plugin refused the answer of a KDC in a sign-in with a certificate, from the line of its trace. libkrb5 then asks
/// for a password, and reports only that it got none.
struct KDCCertificateRefusal: Sendable, Hashable {
    /// The plugin's status.
    let status: krb5_error_code
    /// libkrb5's text.
    let text: String

    /// Reads a line of the trace; nil if it is about something else. PA-PK-AS-REP is number 17 (RFC 4556 section 3.1.3).
    init?(trace line: String) {
        guard let match = line.firstMatch(of: /Preauth module pkinit \(17\) \(real\) returned: (-\d+)\/(.*)/),
            let status = krb5_error_code(match.1)
        else { return nil }
        self.status = status
        text = match.2.trimmed.escapedForDisplay(limit: 200)
    }

    /// The error for a sign-in.
    func error(subject: String) -> KerberosError {
        let message = "\(reason), so its answer was discarded (\(text)). \(advice); another machine may be answering in the KDC's place."
        return KerberosError(.certificateRefused, subject: subject, message: message, libraryCode: status, libraryMessage: text)
    }

    private var reason: String {
        switch Int(status) {
        case Int(KRB5KDC_ERR_CANT_VERIFY_CERTIFICATE): "the KDC's certificate is of no authority that this machine trusts"
        case Int(KRB5KDC_ERR_KDC_NAME_MISMATCH): "the KDC's certificate is not that of a KDC of this realm"
        case Int(KRB5KDC_ERR_INCONSISTENT_KEY_PURPOSE): "the KDC's certificate is for another purpose than a KDC's (1.3.6.1.5.2.3.5)"
        default: "this machine cannot verify the KDC"
        }
    }

    private var advice: String {
        switch Int(status) {
        case Int(KRB5KDC_ERR_KDC_NAME_MISMATCH): "Check pkinit_kdc_hostname in krb5.conf"
        case Int(KRB5KDC_ERR_INCONSISTENT_KEY_PURPOSE): "Check pkinit_eku_checking in krb5.conf"
        default: "Check pkinit_anchors in krb5.conf"
        }
    }
}

extension Substring {
    fileprivate var trimmed: String { String(drop { $0.isWhitespace }.prefix { !$0.isNewline }) }
}
