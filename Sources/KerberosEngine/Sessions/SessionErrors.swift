package import HTTPNegotiate
package import Kerberos

extension KerberosError {
    /// Nobody, or not this principal, is signed in.
    static func notSignedIn(_ subject: String) -> KerberosError {
        KerberosError(
            .noCredentials,
            subject: subject,
            message: "not signed in. Sign in with: ksso login \(subject.contains("@") ? subject : "")".trimmed
        )
    }

    /// Nobody was named, and this machine's user is no principal.
    static func unknownUser(_ error: KerberosError) -> KerberosError {
        KerberosError(
            error.code,
            subject: error.subject,
            message: "nobody is signed in, and the KDC does not know this user. Sign in with: ksso login NAME"
        )
    }

    /// The default cache holds one principal and there is no place for another.
    static func occupied(_ cache: CredentialCacheName, by principal: Principal?) -> KerberosError {
        let owner = principal.map { "\($0)" } ?? "another principal"
        return KerberosError(
            .cacheUnusable,
            subject: cache.rawValue,
            message: "the cache holds the tickets of \(owner), which a second sign-in would destroy. Name another cache, or sign out first."
        )
    }

    /// The ticket can't be got anew without the PIN of the certificate.
    static func needsPIN(_ principal: Principal, _ identity: String) -> KerberosError {
        let name = identity.isEmpty ? "default" : identity
        return KerberosError(
            .notInteractive,
            subject: principal.description,
            message: "the ticket can't be renewed, and the certificate needs its PIN, for which nobody can be asked. "
                + "Sign in at a terminal: ksso login \(principal) --certificate \(name)"
        )
    }

    /// The ticket can't be got anew with a certificate that nobody but the cache names.
    static func notUsedAgain(_ principal: Principal, _ identity: String) -> KerberosError {
        KerberosError(
            .notInteractive,
            subject: principal.description,
            message:
                "the ticket can't be renewed, and the certificate \(identity) is not used again: files with absolute paths are, PKCS11: "
                + "without a module, and what CertificateIdentity of the profile or pkinit_identities of krb5.conf names. "
                + "Sign in with: ksso login \(principal) --certificate \(identity)"
        )
    }

    /// The ticket can't be got anew without a person's answer.
    static func needsPerson(_ principal: Principal) -> KerberosError {
        KerberosError(
            .notInteractive,
            subject: principal.description,
            message: "the ticket can't be renewed without asking for the password. Sign in with: ksso login \(principal)"
        )
    }
}

extension String {
    fileprivate var trimmed: String { last == " " ? String(dropLast()) : self }
}

extension AuthorizationError {
    /// The extension's own code for a failure of libkrb5 or GSSAPI; the sentence and the cause stay.
    package init(_ error: KerberosError) {
        let code: Code =
            switch error.code {
            case .noCredentials, .ticketExpired, .ticketRefused: .notSignedIn
            case .kdcUnreachable, .realmUnknown: .kdcUnreachable
            case .busy: .busy
            case .notInteractive: .notInteractive
            case .canceled: .canceled
            case .invalidToken: .invalidResponse
            case .refusedByServer: .refusedByServer
            case .flagsNotGranted: .mutualAuthenticationFailed
            default: .failed
            }
        self.init(code, error.description, cause: error)
    }
}
