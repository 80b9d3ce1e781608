internal import CKerberos
internal import SystemSupport

extension KerberosError {
    /// Creates the error for a GSSAPI status of a client (RFC 2743 section 1.2.1.1). Call this at once: the minor status's text is kept per
    /// thread.
    static func gss(_ major: OM_uint32, _ minor: OM_uint32, subject: String) -> KerberosError {
        let status = GSSStatus(major, minor)
        let text = status.text
        let code = status.code
        let message =
            switch code {
            case .channelBindingsDiffer:
                "the channel bindings differ: the server sees a different TLS connection. Check for a proxy between the client "
                    + "and the server."
            case .invalidToken: "the server's token is invalid (\(text))."
            case .noCredentials: "there is no matching ticket (\(text)). Sign in again."
            case .ticketExpired: "the ticket has expired. Sign in again."
            case .clockSkew: "the clocks of client and server differ too much (\(text)). Correct both clocks (timedatectl set-ntp true)."
            default: "\(text.isEmpty ? "GSSAPI failed" : text)."
            }
        return status.error(code, subject: subject, message: message)
    }

    /// Creates the error for a status of `gss_accept_sec_context`. A code other than `invalidToken`, `channelBindingsDiffer`,
    /// `ticketExpired` and `clockSkew` is a fault of this server.
    static func accepting(_ major: OM_uint32, _ minor: OM_uint32, keytab: String) -> KerberosError {
        let status = GSSStatus(major, minor)
        let text = status.text
        // The keytab was read before, so a missing credential is that of another mechanism, such as NTLM.
        let code = status.code == .noCredentials || status.rejectsToken ? .invalidToken : status.code
        let message =
            switch code {
            case .invalidToken where status.isReplay: "the client's token was used before (\(text))."
            case .invalidToken: "the client's token is not accepted (\(text))."
            case .channelBindingsDiffer:
                "the client's channel bindings differ: the client sees a different TLS connection. Check for a proxy between the client "
                    + "and the server."
            case .ticketExpired: "the client's ticket has expired."
            case .clockSkew: "the clocks of client and server differ too much (\(text)). Correct both clocks (timedatectl set-ntp true)."
            default:
                "\(text.isEmpty ? "GSSAPI failed" : text). Check that the keytab can be read and has the keys that the KDC uses: klist -k"
            }
        return status.error(code, subject: keytab, message: message)
    }

    /// The same failure as a refusal by the server.
    var asRefusal: KerberosError {
        KerberosError(
            .refusedByServer,
            subject: subject,
            message: "\(message) The ticket or the server's keytab may be older than the KDC's key, or its clock may be off.",
            libraryCode: libraryCode,
            libraryMessage: libraryMessage
        )
    }

    /// The same failure as a refusal by a server whose clock differs.
    var asClockRefusal: KerberosError {
        let reason = libraryMessage.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? libraryMessage
        return KerberosError(
            .clockSkew,
            subject: subject,
            message: "the server refused the ticket because the server's clock and the KDC's differ too much (\(reason)). Set the server's "
                + "clock (timedatectl set-ntp true), and check this machine's.",
            libraryCode: libraryCode,
            libraryMessage: libraryMessage
        )
    }

    /// Whether a new ticket for the same service may be accepted after this refusal: false if the server could read the ticket and rejected
    /// the request for another reason.
    package var mayBeCuredByNewTicket: Bool {
        code == .refusedByServer && !Self.refusalsOfRequests.contains { libraryMessage.hasSuffix($0) }
    }

    private static let refusalsOfRequests: [String] = [KRB5KRB_AP_ERR_REPEAT, KRB5KRB_AP_ERR_BADADDR, KRB5KRB_AP_ERR_BADMATCH].map {
        libraryText(krb5_error_code(truncatingIfNeeded: $0), context: nil)
    }
}

/// The texts of a GSSAPI status (RFC 2743 section 1.2.1.1). Create it at once: the text of a minor status is kept per thread.
private struct GSSStatus {
    private let major: OM_uint32
    private let minor: OM_uint32
    private let majorText: String
    private let minorText: String

    init(_ major: OM_uint32, _ minor: OM_uint32) {
        self.major = major
        self.minor = minor
        majorText = Self.displayedText(major, type: GSS_C_GSS_CODE)
        // For a ticket that expires during the call, the mechanism's text is "Success".
        let mechanismText = Self.displayedText(minor, type: GSS_C_MECH_CODE)
        minorText = mechanismText == "Success" ? "" : mechanismText
    }

    /// The mechanism's text, else that of GSSAPI.
    var text: String { minorText.isEmpty ? majorText : minorText }

    /// Whether the acceptor has seen the token before.
    var isReplay: Bool { minorText.hasPrefix(Self.replay) }

    /// Whether the acceptor rejects what the client sent.
    var rejectsToken: Bool {
        let routine = ckerberos_gss_routine_error(major)
        // libgssapi reports an AP-REQ that cannot be decoded as a failure without a reason.
        return isReplay || routine == ckerberos_s_bad_sig || routine == ckerberos_s_failure && minorText.isEmpty
            || minorText.hasSuffix("ticket is likely out of date") || Self.rejections.contains(minorText)
    }

    /// Compared as a whole: the text for a ticket that the keytab cannot decrypt is longer than that for an authenticator.
    private static let rejections: Set<String> = Set(
        [
            KRB5KRB_AP_ERR_BADMATCH, KRB5KRB_AP_ERR_BADADDR, KRB5KRB_AP_ERR_TKT_INVALID, KRB5KRB_AP_ERR_MSG_TYPE,
            KRB5KRB_AP_ERR_BAD_INTEGRITY,
        ].map { KerberosError.libraryText(krb5_error_code(truncatingIfNeeded: $0), context: nil) }
    )

    var code: KerberosError.Code {
        switch ckerberos_gss_routine_error(major) {
        case ckerberos_s_bad_bindings: .channelBindingsDiffer
        case ckerberos_s_no_cred: .noCredentials
        case ckerberos_s_credentials_expired: .ticketExpired
        case ckerberos_s_defective_token, ckerberos_s_bad_mech: .invalidToken
        default: Self.causes.first { minorText.hasPrefix($0.text) }?.code ?? .other
        }
    }

    func error(_ code: KerberosError.Code, subject: String, message: String) -> KerberosError {
        let number = Int32(bitPattern: minor)
        return KerberosError(code, subject: subject, message: message, libraryCode: number, libraryMessage: "\(majorText): \(minorText)")
    }

    private static let replay = KerberosError.libraryText(krb5_error_code(truncatingIfNeeded: KRB5KRB_AP_ERR_REPEAT), context: nil)

    /// The causes of a bare `GSS_S_FAILURE`, identified by their text: libgssapi maps the mechanism's status to a number of its own.
    private static let causes: [(text: String, code: KerberosError.Code)] = {
        let statuses: [(status: Int, code: KerberosError.Code)] = [
            (KRB5KRB_AP_ERR_SKEW, .clockSkew),
            (KRB5KRB_AP_ERR_TKT_NYV, .clockSkew),
            (KRB5KRB_AP_ERR_TKT_EXPIRED, .ticketExpired),
            (KRB5_CC_NOTFOUND, .noCredentials),
            (Int(ckerberos_g_bad_tok_header), .invalidToken),
        ]
        return statuses.map { (KerberosError.libraryText(krb5_error_code(truncatingIfNeeded: $0.status), context: nil), $0.code) }
    }()

    /// A status may have several lines, which are read until the message context is 0 again.
    private static func displayedText(_ status: OM_uint32, type: Int32) -> String {
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
    /// Decodes text in a C buffer, without NUL bytes at its end: Heimdal's servers, and some libraries, count the terminating NUL.
    init(text bytes: UnsafeRawBufferPointer) {
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        self.init(decoding: bytes[..<end], as: UTF8.self)
    }
}

extension gss_buffer_desc {
    /// The bytes, valid until the buffer is released.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: value, count: length) }
}
