internal import SystemSupport

/// An error from libkrb5 or GSSAPI. It is complete when thrown: nothing is looked up later.
public struct KerberosError: Error, Sendable {
    /// The kind of failure; compare errors by this value.
    public let code: Code
    /// What the error is about: a principal, a realm, a cache or a file.
    public let subject: String
    /// A text that says what failed and what to do.
    public let message: String
    /// The library's code, a `krb5_error_code` or GSSAPI's minor status; 0 if the error is not from a library.
    public let libraryCode: Int32
    /// The library's text for that code, with details.
    public let libraryMessage: String
    /// The client of the ticket that was sent to the KDC, if known.
    package let client: String?

    package init(
        _ code: Code,
        subject: String,
        message: String,
        libraryCode: Int32 = 0,
        libraryMessage: String = "",
        client: String? = nil
    ) {
        self.code = code
        self.subject = subject
        self.message = message
        self.libraryCode = libraryCode
        self.libraryMessage = libraryMessage
        self.client = client
    }

    /// The same error with another message.
    package func saying(_ message: String) -> KerberosError {
        KerberosError(
            code,
            subject: subject,
            message: message,
            libraryCode: libraryCode,
            libraryMessage: libraryMessage,
            client: client
        )
    }

    /// The same error with another subject.
    func about(_ subject: String) -> KerberosError {
        KerberosError(
            code,
            subject: subject,
            message: message,
            libraryCode: libraryCode,
            libraryMessage: libraryMessage,
            client: client
        )
    }
}

extension KerberosError: CustomStringConvertible {
    /// `subject: message`, with terminal control characters in the subject escaped.
    public var description: String { subject.isEmpty ? message : "\(subject.escapedForDisplay()): \(message)" }
}

extension KerberosError {
    /// A kind of failure. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable name of the kind.
        public let rawValue: String
        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The password is wrong, or the keytab's key differs from the KDC's: `KRB5KDC_ERR_PREAUTH_FAILED` or
        /// `KRB5KRB_AP_ERR_BAD_INTEGRITY` in a sign-in.
        public static let wrongPassword = Code(rawValue: "wrongPassword")
        /// The KDC does not know the client: `KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN`.
        public static let unknownPrincipal = Code(rawValue: "unknownPrincipal")
        /// The KDC does not know the service: `KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN`.
        public static let unknownService = Code(rawValue: "unknownService")
        /// The password has expired and must be changed: `KRB5KDC_ERR_KEY_EXP`.
        public static let passwordExpired = Code(rawValue: "passwordExpired")
        /// The server rejected the new password: too short, too simple, used before, or changed too soon (RFC 3244 section 2).
        public static let passwordRefused = Code(rawValue: "passwordRefused")
        /// The account is locked or disabled: `KRB5KDC_ERR_CLIENT_REVOKED`. Active Directory also returns this code outside the logon
        /// hours, and for an expired account if it gives no other reason.
        public static let accountLocked = Code(rawValue: "accountLocked")
        /// The account has expired: `KRB5KDC_ERR_NAME_EXP`, or `KRB5KDC_ERR_CLIENT_REVOKED` with this reason of Active Directory.
        public static let accountExpired = Code(rawValue: "accountExpired")
        /// No KDC answered in time: `KRB5_KDC_UNREACH`, or the deadline.
        public static let kdcUnreachable = Code(rawValue: "kdcUnreachable")
        /// Too many requests of one caller are waiting for a KDC, or another sign-in of this process uses a smart card.
        public static let busy = Code(rawValue: "busy")
        /// The realm's KDCs are unknown: `KRB5_REALM_UNKNOWN`, `KRB5_REALM_CANT_RESOLVE`.
        public static let realmUnknown = Code(rawValue: "realmUnknown")
        /// The clock skew is too great: `KRB5KRB_AP_ERR_SKEW`, `KRB5_KDCREP_SKEW`.
        public static let clockSkew = Code(rawValue: "clockSkew")
        /// The ticket has expired: `KRB5KRB_AP_ERR_TKT_EXPIRED`.
        public static let ticketExpired = Code(rawValue: "ticketExpired")
        /// The KDC cannot read the ticket-granting ticket, because its key has changed since: `KRB5KRB_AP_ERR_BAD_INTEGRITY`,
        /// `KRB5KRB_AP_ERR_MODIFIED`, `KRB5KRB_AP_ERR_NOKEY`, `KRB5KRB_AP_ERR_BADKEYVER`, or `KRB5KRB_ERR_GENERIC` with the text
        /// `PROCESS_TGS`. A keytab session signs in again by itself if the ticket is at least five minutes old and it has not done so in
        /// the last five minutes.
        public static let ticketRefused = Code(rawValue: "ticketRefused")
        /// The ticket cannot be renewed: `KRB5KDC_ERR_BADOPTION`.
        public static let notRenewable = Code(rawValue: "notRenewable")
        /// The cache is missing or contains no such ticket: `KRB5_FCC_NOFILE`, `KRB5_CC_NOTFOUND`.
        public static let noCredentials = Code(rawValue: "noCredentials")
        /// The cache exists but is damaged: `KRB5_CC_FORMAT`, `KRB5_CCACHE_BADVNO`, `KRB5_CC_END`.
        public static let cacheCorrupt = Code(rawValue: "cacheCorrupt")
        /// The cache cannot be opened, written or removed.
        public static let cacheUnusable = Code(rawValue: "cacheUnusable")
        /// The keytab is missing or cannot be read.
        public static let keytabUnusable = Code(rawValue: "keytabUnusable")
        /// The keytab has no key for the principal: `KRB5_KT_NOTFOUND`.
        public static let keytabEntryMissing = Code(rawValue: "keytabEntryMissing")
        /// krb5.conf, or a file that it includes, is invalid.
        public static let configurationInvalid = Code(rawValue: "configurationInvalid")
        /// The principal name cannot be parsed: `KRB5_PARSE_MALFORMED`.
        public static let malformedPrincipal = Code(rawValue: "malformedPrincipal")
        /// libkrb5 requires an answer and no user can be prompted: `KRB5_LIBOS_CANTREADPWD`.
        public static let notInteractive = Code(rawValue: "notInteractive")
        /// The user or the task canceled the call: `KRB5_LIBOS_PWDINTR`.
        public static let canceled = Code(rawValue: "canceled")
        /// The client and the KDC share no encryption type: `KRB5KDC_ERR_ETYPE_NOSUPP`.
        public static let encryptionTypeRefused = Code(rawValue: "encryptionTypeRefused")
        /// The KDC's policy rejects the request: `KRB5KDC_ERR_POLICY`.
        public static let policyRefused = Code(rawValue: "policyRefused")
        /// No certificate could be used: certificate, key or card is missing, the PIN is wrong, the KDC's reply cannot be decrypted, or the
        /// KDC refuses the certificate. Then `libraryCode` is the KDC's reason, such as `KRB5KDC_ERR_REVOKED_CERTIFICATE` or
        /// `KRB5KDC_ERR_CLIENT_NAME_MISMATCH` (RFC 4556 section 3.1.3).
        public static let certificateRefused = Code(rawValue: "certificateRefused")
        /// The client and the KDC share no pre-authentication mechanism, possibly because the KDC requires FAST armor (RFC 6113):
        /// `KRB5_PREAUTH_FAILED`.
        public static let preauthenticationRefused = Code(rawValue: "preauthenticationRefused")
        /// The armor ticket that protects the sign-in (FAST, RFC 6113) is missing, has expired or cannot be read.
        public static let armorUnusable = Code(rawValue: "armorUnusable")
        /// Passwords cannot be stored here, or the stored password cannot be read.
        public static let secretStoreUnusable = Code(rawValue: "secretStoreUnusable")
        /// The peer's token is invalid: `GSS_S_DEFECTIVE_TOKEN`, `GSS_S_BAD_MECH`.
        public static let invalidToken = Code(rawValue: "invalidToken")
        /// The client's and the server's channel bindings differ: `GSS_S_BAD_BINDINGS`.
        public static let channelBindingsDiffer = Code(rawValue: "channelBindingsDiffer")
        /// The mechanism granted less than was requested: mutual authentication, integrity or replay detection.
        public static let flagsNotGranted = Code(rawValue: "flagsNotGranted")
        /// The server rejected the token or answered with an error: its key or its clock may differ.
        public static let refusedByServer = Code(rawValue: "refusedByServer")
        /// Any other failure; the library's text describes it.
        public static let other = Code(rawValue: "other")
    }
}
