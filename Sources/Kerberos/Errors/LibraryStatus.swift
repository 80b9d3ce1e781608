internal import CKerberos
internal import SystemSupport

extension KerberosError {
    /// The operation in which libkrb5 returned a status; determines the advice in the message.
    enum Operation {
        case readConfiguration, parseName, signIn, signInWithKeytab, renew, getServiceTicket, changePassword, readCache, writeCache,
            readKeytab

        var contactsKDC: Bool { [.signIn, .signInWithKeytab, .renew, .getServiceTicket, .changePassword].contains(self) }
    }

    /// Creates the error for a libkrb5 status. Call this on the thread of the failed call: the context holds the detailed text.
    static func library(
        _ status: krb5_error_code,
        _ operation: Operation,
        subject: String,
        client: String? = nil,
        detail: String? = nil,
        context: krb5_context?
    ) -> KerberosError {
        let text = libraryText(status, context: context)
        let code = Code(status: status, operation: operation, text: text)
        let whole = detail.map { "\(text); the KDC's message: \($0)" } ?? text
        let message = sentence(for: code, status: status, operation: operation, subject: subject, text: whole)
        return KerberosError(code, subject: subject, message: message, libraryCode: status, libraryMessage: text, client: client)
    }

    /// The same error with a cause that libkrb5 did not report.
    func because(_ code: Code, message: String? = nil) -> KerberosError {
        let message = message ?? Self.sentence(for: code, status: libraryCode, operation: .signIn, subject: subject, text: libraryMessage)
        return KerberosError(code, subject: subject, message: message, libraryCode: libraryCode, libraryMessage: libraryMessage)
    }

    /// Whether the KDC returned no specific code (`KRB5KRB_ERR_GENERIC`), so that the fault may be another one, and temporary.
    package var isGeneric: Bool { Int(libraryCode) == Int(KRB5KRB_ERR_GENERIC) }

    static func libraryText(_ status: krb5_error_code, context: krb5_context?) -> String {
        guard let text = krb5_get_error_message(context, status) else { return "" }
        defer { krb5_free_error_message(context, text) }
        return String(cString: text).escapedForDisplay()
    }

    private static func sentence(
        for code: Code,
        status: krb5_error_code,
        operation: Operation,
        subject: String,
        text: String
    ) -> String {
        let subject = subject.escapedForDisplay()
        return switch code {
        case .wrongPassword where operation == .signInWithKeytab:
            "the key in the keytab is not the one in the KDC (\(text)). Export the keytab again with ktadd or ktpass."
        case .wrongPassword: "the password is wrong (preauthentication failed)."
        case .unknownPrincipal: "the KDC does not know this principal. Check the name and the realm."
        case .unknownService where Code.isAmbiguous(status):
            "several accounts of the domain have this service principal name (\(text)). Ask your administrator to remove it from all accounts "
                + "except the server's; setspn -X lists such names."
        case .unknownService:
            "the KDC does not know this service. Check the host name in the URL, or have the service principal added to the KDC."
        case .passwordExpired: "the password has expired. Change it with: ksso passwd \(subject)"
        case .accountLocked:
            "the account is locked, disabled or expired, or this is outside its logon hours (\(text)). Ask your administrator."
        case .accountExpired: "the account has expired. Ask your administrator."
        case .realmUnknown where operation == .changePassword:
            "no password server is known for this realm. Set kpasswd_server or admin_server in krb5.conf; the password is unchanged."
        case .kdcUnreachable where operation == .changePassword:
            "the realm's password server cannot be reached (kpasswd, port 464: \(text)). Check the network or the VPN; the "
                + "password is unchanged."
        case .kdcUnreachable where Code.isFailureOfNames(status):
            "no KDC of the realm can be reached, because no name server answers. Check the network or the VPN, then run: ksso doctor"
        case .kdcUnreachable: "no KDC of the realm can be reached (\(text)). Check the network or the VPN, then run: ksso doctor"
        case .realmUnknown:
            "no KDC is known for this realm: neither krb5.conf nor the profile nor DNS lists one (\(text)). Check the network or the VPN, and the "
                + "spelling of the realm, then run: ksso doctor"
        case .clockSkew: "this machine's clock and the KDC's differ too much. Set the clock (timedatectl set-ntp true), then try again."
        case .ticketExpired: "the ticket has expired. Sign in again."
        case .ticketRefused:
            "the KDC cannot read the ticket-granting ticket (\(text)): it was issued before the realm's key was changed, or the "
                + "KDC was reinstalled"
                + "\(operation == .renew ? "" : ", or the keys of a trust with another realm differ"). Sign in again."
        case .notRenewable: "the ticket cannot be renewed. Sign in again."
        case .noCredentials: "there is no ticket. Sign in first."
        case .cacheCorrupt: "the credential cache is damaged (\(text)). Remove it with kdestroy -c \(subject), then sign in again."
        // The socket of a server that was killed refuses connections; libkrb5 then returns the system's error.
        case .cacheUnusable where text.contains("KCM") || status == ECONNREFUSED:
            "no server is running for the credential caches (\(text)). Start this user's agent: ksso agent run --background; or "
                + "the system-wide server: "
                + "systemctl start ksso-kcm.socket"
        case .cacheUnusable: "the credential cache cannot be used (\(text))."
        case .keytabUnusable: "the keytab cannot be read (\(text))."
        case .keytabEntryMissing: "the keytab has no key for this principal (\(text)). List it with klist -k."
        case .configurationInvalid: "krb5.conf is invalid (\(text)). Correct /etc/krb5.conf, or the file named in KRB5_CONFIG."
        case .malformedPrincipal: "this is not a principal name (\(text)). Write it as name@REALM."
        case .notInteractive: "a password is required, and no prompt is available. Sign in with: ksso login \(subject)"
        case .canceled: "canceled."
        case .encryptionTypeRefused: "the KDC and this machine share no encryption type (\(text)). Check permitted_enctypes in krb5.conf."
        case .certificateRefused: CertificateRefusal(status, text: text, subject: subject).sentence(text)
        case .preauthenticationRefused:
            "the KDC accepts no sign-in method that this machine supports (\(text)). If it requires FAST, pass the credential cache of an "
                + "armor ticket: ksso login --armor-cache NAME"
        case .policyRefused: "the KDC's policy refuses this (\(text)). Ask your administrator."
        default: text.isEmpty ? "unexpected failure of libkrb5." : "\(text)."
        }
    }
}

extension KerberosError.Code {
    fileprivate init(status: krb5_error_code, operation: KerberosError.Operation, text: String) {
        // For a keytab that is missing, empty or invalid, libkrb5 returns "no such entry".
        self =
            operation == .readKeytab
            ? .keytabUnusable : Self.byStatus[Int(status)] ?? Self.byOperation(operation, status: status, text: text)
    }

    /// Statuses that have one meaning in every operation.
    private static let byStatus: [Int: Self] = {
        var table: [Int: Self] = [:]
        func map(_ code: Self, _ statuses: [Int]) { for status in statuses { table[status] = code } }
        map(.preauthenticationRefused, [Int(KRB5_PREAUTH_FAILED)])
        map(.unknownPrincipal, [Int(KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN)])
        map(.unknownService, [Int(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN)])
        map(.passwordExpired, [Int(KRB5KDC_ERR_KEY_EXP)])
        map(.accountLocked, [Int(KRB5KDC_ERR_CLIENT_REVOKED)])
        map(.certificateRefused, CertificateRefusal.statuses)
        map(.accountExpired, [Int(KRB5KDC_ERR_NAME_EXP)])
        map(.kdcUnreachable, [Int(KRB5_KDC_UNREACH)])
        map(.realmUnknown, [KRB5_REALM_UNKNOWN, KRB5_REALM_CANT_RESOLVE].map { Int($0) })
        map(.clockSkew, [KRB5KRB_AP_ERR_SKEW, KRB5_KDCREP_SKEW].map { Int($0) })
        map(.ticketExpired, [Int(KRB5KRB_AP_ERR_TKT_EXPIRED)])
        map(.cacheCorrupt, [KRB5_CC_FORMAT, KRB5_CCACHE_BADVNO, KRB5_CC_END].map { Int($0) })
        map(.keytabEntryMissing, [Int(KRB5_KT_NOTFOUND)])
        map(.keytabUnusable, [KRB5_KEYTAB_BADVNO, KRB5_KT_FORMAT, KRB5_KT_END, KRB5_KT_IOERR].map { Int($0) })
        map(.malformedPrincipal, [KRB5_PARSE_MALFORMED, KRB5_PARSE_ILLCHAR].map { Int($0) })
        map(.notInteractive, [Int(KRB5_LIBOS_CANTREADPWD)])
        map(.canceled, [Int(KRB5_LIBOS_PWDINTR)])
        map(.encryptionTypeRefused, [KRB5KDC_ERR_ETYPE_NOSUPP, KRB5_PROG_ETYPE_NOSUPP, KRB5_CONFIG_ETYPE_NOSUPP].map { Int($0) })
        map(.policyRefused, [Int(KRB5KDC_ERR_POLICY)])
        return table
    }()

    /// Statuses that mean a wrong password or key in a sign-in, and an unreadable ticket in a request that contains one.
    private static let refusalsOfProof = [KRB5KDC_ERR_PREAUTH_FAILED, KRB5KRB_AP_ERR_BAD_INTEGRITY].map { Int($0) }
    private static let refusalsOfTicket = [
        KRB5KRB_AP_ERR_BAD_INTEGRITY, KRB5KRB_AP_ERR_MODIFIED, KRB5KRB_AP_ERR_NOKEY, KRB5KRB_AP_ERR_BADKEYVER,
    ].map { Int($0) }

    /// Whether the KDC cannot read the ticket. MIT's KDC has no code for a ticket made with a removed key: its text names only the step
    /// that failed. It sends the same if it cannot read its database.
    private static func isRefusalOfTicket(_ status: krb5_error_code, text: String) -> Bool {
        refusalsOfTicket.contains(Int(status)) || Int(status) == Int(KRB5KRB_ERR_GENERIC) && text.hasSuffix(": PROCESS_TGS")
    }

    /// Whether no name server answered when libkrb5 looked for the KDCs' addresses: it returns `EAGAIN` for getaddrinfo's `EAI_AGAIN`.
    fileprivate static func isFailureOfNames(_ status: krb5_error_code) -> Bool { status == EAGAIN }

    /// Whether several accounts have the name, so that the KDC of an Active Directory domain cannot select a key.
    fileprivate static func isAmbiguous(_ status: krb5_error_code) -> Bool { Int(status) == Int(KRB5KDC_ERR_PRINCIPAL_NOT_UNIQUE) }

    private static func byOperation(_ operation: KerberosError.Operation, status: krb5_error_code, text: String) -> Self {
        switch operation {
        case .signIn where refusalsOfProof.contains(Int(status)), .signInWithKeytab where refusalsOfProof.contains(Int(status)):
            .wrongPassword
        case .getServiceTicket where isRefusalOfTicket(status, text: text), .renew where isRefusalOfTicket(status, text: text):
            .ticketRefused
        case .getServiceTicket where isAmbiguous(status): .unknownService
        case _ where operation.contactsKDC && isFailureOfNames(status): .kdcUnreachable
        case .readConfiguration: .configurationInvalid
        case .writeCache: .cacheUnusable
        case .renew where Int(status) == Int(KRB5KDC_ERR_BADOPTION): .notRenewable
        case .signInWithKeytab where status > 0 && status < 256: .keytabUnusable  // an errno: missing or unreadable
        case _ where [KRB5_FCC_NOFILE, KRB5_CC_NOTFOUND, KRB5_CC_NOSUPP].contains(where: { Int($0) == Int(status) }): .noCredentials
        case .readCache: .cacheUnusable
        default: .other
        }
    }
}
