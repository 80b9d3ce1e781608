internal import CKerberos

extension KerberosError {
    /// The error for a status of GSSAPI (RFC 2743 section 1.2.1.1). The minor status's text is kept per thread: call it at once.
    static func gss(_ major: OM_uint32, _ minor: OM_uint32, subject: String) -> KerberosError {
        let majorText = gssText(major, type: GSS_C_GSS_CODE)
        // Of a ticket that ends in this very moment the mechanism says that all is well.
        let mechanismText = gssText(minor, type: GSS_C_MECH_CODE)
        let minorText = mechanismText == "Success" ? "" : mechanismText
        let text = minorText.isEmpty ? majorText : minorText
        let code = code(of: major, text: minorText)
        let message =
            switch code {
            case .channelBindingsDiffer: "the server sees another TLS connection than we do: channel bindings differ. Is a proxy between?"
            case .invalidToken: "the server's token is no valid answer (\(text))."
            case .noCredentials: "there is no ticket that fits (\(text)). Sign in again."
            case .ticketExpired: "the ticket has expired. Sign in again."
            case .clockSkew: "the clocks of client and server differ too much (\(text)). Set both right (timedatectl set-ntp true)."
            default: "\(text.isEmpty ? "GSSAPI failed" : text)."
            }
        let number = Int32(bitPattern: minor)
        return KerberosError(code, subject: subject, message: message, libraryCode: number, libraryMessage: "\(majorText): \(minorText)")
    }

    /// The same failure, as the other end's refusal.
    var asRefusal: KerberosError {
        KerberosError(
            .refusedByServer,
            subject: subject,
            message: "\(message) The ticket or the server's keytab may be older than the KDC's key, or its clock may be off.",
            libraryCode: libraryCode,
            libraryMessage: libraryMessage
        )
    }

    /// Whether another ticket of the same service may be taken where this one was refused: not if the server could read it and refuses the
    /// request for another reason.
    package var mayEndWithAnotherTicket: Bool {
        code == .refusedByServer && !Self.refusalsOfRequests.contains { libraryMessage.hasSuffix($0) }
    }

    private static let refusalsOfRequests: [String] = [KRB5KRB_AP_ERR_REPEAT, KRB5KRB_AP_ERR_BADADDR, KRB5KRB_AP_ERR_BADMATCH].map {
        libraryText(krb5_error_code(truncatingIfNeeded: $0), context: nil)
    }

    private static func code(of major: OM_uint32, text: String) -> Code {
        switch ckerberos_gss_routine_error(major) {
        case ckerberos_s_bad_bindings: .channelBindingsDiffer
        case ckerberos_s_no_cred: .noCredentials
        case ckerberos_s_credentials_expired: .ticketExpired
        case ckerberos_s_defective_token, ckerberos_s_bad_mech: .invalidToken
        default: causes.first { text.hasPrefix($0.text) }?.code ?? .other
        }
    }

    /// What stands behind a bare `GSS_S_FAILURE`, told by its text: libgssapi gives a mechanism's status a number of its own.
    private static let causes: [(text: String, code: Code)] = {
        let statuses: [(status: Int, code: Code)] = [
            (KRB5KRB_AP_ERR_SKEW, .clockSkew),
            (KRB5KRB_AP_ERR_TKT_NYV, .clockSkew),
            (KRB5KRB_AP_ERR_TKT_EXPIRED, .ticketExpired),
            (KRB5_CC_NOTFOUND, .noCredentials),
            (Int(ckerberos_g_bad_tok_header), .invalidToken),
        ]
        return statuses.map { (libraryText(krb5_error_code(truncatingIfNeeded: $0.status), context: nil), $0.code) }
    }()

    /// A status may have several lines: they are asked for until the message context is 0 again.
    private static func gssText(_ status: OM_uint32, type: Int32) -> String {
        guard status != 0 else { return "" }
        var lines: [String] = []
        var context: OM_uint32 = 0
        repeat {
            var minor: OM_uint32 = 0
            var buffer = gss_buffer_desc()
            let mechanism = type == GSS_C_MECH_CODE ? ckerberos_mech_krb5() : nil
            let major = gss_display_status(&minor, status, type, mechanism, &context, &buffer)
            guard major == GSS_S_COMPLETE else { break }
            lines.append(String(text: buffer.bytes).escapedForDisplay())
            gss_release_buffer(&minor, &buffer)
        } while context != 0 && lines.count < 8
        return lines.joined(separator: "; ")
    }
}

extension String {
    /// The text in a buffer of C. NUL bytes at its end are not part of it: Heimdal's servers count C's own, and so do some libraries.
    init(text bytes: UnsafeRawBufferPointer) {
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        self.init(decoding: bytes[..<end], as: UTF8.self)
    }
}

extension gss_buffer_desc {
    /// The bytes, valid until the buffer is released.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: value, count: length) }
}
