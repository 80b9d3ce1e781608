/// What went wrong in libkrb5 or GSSAPI, complete when it is thrown: nothing is looked up later.
public struct KerberosError: Error, Sendable {
    /// The kind of failure; compare errors by this.
    public let code: Code
    /// Whom or what it is about: a principal, a realm, a cache, a file.
    public let subject: String
    /// A sentence that says what is wrong and what to do.
    public let message: String
    /// The library's own code, 0 where the library was not asked: a `krb5_error_code`, or GSSAPI's minor status.
    public let libraryCode: Int32
    /// The library's own text for that code, with its detail.
    public let libraryMessage: String
    /// Whose ticket was shown to the KDC, where that is known.
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

    /// The same failure in other words.
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

    /// The same failure, about something else.
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
    /// `subject: message`, the line that a person reads; what a terminal would act on in the subject is escaped.
    public var description: String { subject.isEmpty ? message : "\(subject.escapedForDisplay()): \(message)" }
}

extension KerberosError {
    /// The kind of a failure. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable name of the kind.
        public let rawValue: String
        /// A kind by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The password is wrong, or the keytab's key is not the KDC's: `KRB5KDC_ERR_PREAUTH_FAILED`, `KRB5KRB_AP_ERR_BAD_INTEGRITY` of a
        /// sign-in.
        public static let wrongPassword = Code(rawValue: "wrongPassword")
        /// The KDC does not know the client: `KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN`.
        public static let unknownPrincipal = Code(rawValue: "unknownPrincipal")
        /// The KDC does not know the service: `KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN`.
        public static let unknownService = Code(rawValue: "unknownService")
        /// The password has expired and must be changed: `KRB5KDC_ERR_KEY_EXP`.
        public static let passwordExpired = Code(rawValue: "passwordExpired")
        /// The new password is not taken: too short, too simple, used before, changed too soon (RFC 3244 section 2).
        public static let passwordRefused = Code(rawValue: "passwordRefused")
        /// The account is locked or disabled: `KRB5KDC_ERR_CLIENT_REVOKED`. Active Directory gives this code too when the account has
        /// expired, and outside its logon hours.
        public static let accountLocked = Code(rawValue: "accountLocked")
        /// The account has expired: `KRB5KDC_ERR_NAME_EXP`.
        public static let accountExpired = Code(rawValue: "accountExpired")
        /// No KDC answered in time: `KRB5_KDC_UNREACH`, or the deadline.
        public static let kdcUnreachable = Code(rawValue: "kdcUnreachable")
        /// Too many requests of one caller wait for a KDC.
        public static let busy = Code(rawValue: "busy")
        /// Nothing says where the realm's KDCs are: `KRB5_REALM_UNKNOWN`, `KRB5_REALM_CANT_RESOLVE`.
        public static let realmUnknown = Code(rawValue: "realmUnknown")
        /// The clocks differ by more than the limit: `KRB5KRB_AP_ERR_SKEW`, `KRB5_KDCREP_SKEW`.
        public static let clockSkew = Code(rawValue: "clockSkew")
        /// The ticket has expired: `KRB5KRB_AP_ERR_TKT_EXPIRED`.
        public static let ticketExpired = Code(rawValue: "ticketExpired")
        /// The KDC can't read the ticket-granting ticket, which is from before its key was changed: `KRB5KRB_AP_ERR_BAD_INTEGRITY`,
        /// `KRB5KRB_AP_ERR_MODIFIED`, `KRB5KRB_AP_ERR_NOKEY`, `KRB5KRB_AP_ERR_BADKEYVER`, or `KRB5KRB_ERR_GENERIC` with the text
        /// `PROCESS_TGS`. A session of a keytab gets another one by itself, where the ticket is at least five minutes old and none was got
        /// for so long.
        public static let ticketRefused = Code(rawValue: "ticketRefused")
        /// The ticket can't be renewed: `KRB5KDC_ERR_BADOPTION`.
        public static let notRenewable = Code(rawValue: "notRenewable")
        /// The cache is not there or holds no such ticket: `KRB5_FCC_NOFILE`, `KRB5_CC_NOTFOUND`.
        public static let noCredentials = Code(rawValue: "noCredentials")
        /// The cache is there and can't be read as one: `KRB5_CC_FORMAT`, `KRB5_CCACHE_BADVNO`, `KRB5_CC_END`.
        public static let cacheCorrupt = Code(rawValue: "cacheCorrupt")
        /// The cache can't be opened, written or removed.
        public static let cacheUnusable = Code(rawValue: "cacheUnusable")
        /// The keytab is not there or can't be read.
        public static let keytabUnusable = Code(rawValue: "keytabUnusable")
        /// The keytab has no key for the principal: `KRB5_KT_NOTFOUND`.
        public static let keytabEntryMissing = Code(rawValue: "keytabEntryMissing")
        /// krb5.conf, or a file it includes, has a fault.
        public static let configurationInvalid = Code(rawValue: "configurationInvalid")
        /// A principal's name can't be parsed: `KRB5_PARSE_MALFORMED`.
        public static let malformedPrincipal = Code(rawValue: "malformedPrincipal")
        /// libkrb5 asked a question and nobody may answer: `KRB5_LIBOS_CANTREADPWD`.
        public static let notInteractive = Code(rawValue: "notInteractive")
        /// The person, or the task, canceled: `KRB5_LIBOS_PWDINTR`.
        public static let canceled = Code(rawValue: "canceled")
        /// Client and KDC share no encryption type: `KRB5KDC_ERR_ETYPE_NOSUPP`.
        public static let encryptionTypeRefused = Code(rawValue: "encryptionTypeRefused")
        /// The KDC's policy refuses: `KRB5KDC_ERR_POLICY`.
        public static let policyRefused = Code(rawValue: "policyRefused")
        /// No certificate could be used to sign in: it, its key or its card is not there, the PIN is wrong, or the KDC wants another.
        public static let certificateRefused = Code(rawValue: "certificateRefused")
        /// Client and KDC share no way to prove who signs in, which may be since the KDC takes protected sign-ins alone (FAST, RFC 6113):
        /// `KRB5_PREAUTH_FAILED`.
        public static let preauthenticationRefused = Code(rawValue: "preauthenticationRefused")
        /// The ticket that protects the sign-in (FAST, RFC 6113) is not there, has expired or can't be read.
        public static let armorUnusable = Code(rawValue: "armorUnusable")
        /// No password can be kept here, or the one that is kept can't be had.
        public static let secretStoreUnusable = Code(rawValue: "secretStoreUnusable")
        /// The peer's token is no valid answer: `GSS_S_DEFECTIVE_TOKEN`, `GSS_S_BAD_MECH`.
        public static let invalidToken = Code(rawValue: "invalidToken")
        /// The two ends have different channel bindings: `GSS_S_BAD_BINDINGS`.
        public static let channelBindingsDiffer = Code(rawValue: "channelBindingsDiffer")
        /// The mechanism granted less than was asked: mutual authentication, integrity, delegation.
        public static let flagsNotGranted = Code(rawValue: "flagsNotGranted")
        /// The server answered with an error of its own: it has another key, or another time.
        public static let refusedByServer = Code(rawValue: "refusedByServer")
        /// Anything else; the library's text says what.
        public static let other = Code(rawValue: "other")
    }
}
