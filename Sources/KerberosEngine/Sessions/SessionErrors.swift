package import Kerberos
package import SignOnPolicy
internal import SystemSupport

extension KerberosError {
    /// This principal is not signed in.
    package static func notSignedIn(_ principal: Principal) -> KerberosError { notSignedIn(principal.displayName) }

    /// The principal of this name is not signed in.
    static func notSignedIn(_ principal: String) -> KerberosError {
        KerberosError(.noCredentials, subject: principal, message: "not signed in. Sign in with: ksso login \(principal)")
    }

    /// The ticket of this principal has expired.
    package static func expired(_ principal: Principal) -> KerberosError {
        let name = principal.displayName
        return KerberosError(.noCredentials, subject: name, message: "the ticket has expired. Sign in again with: ksso login \(name)")
    }

    /// No one is signed in to a realm, or to any realm.
    ///
    /// - Parameter isDefault: Whether a sign-in without a name is in that realm.
    package static func notSignedIn(toRealm realm: String?, isDefault: Bool = false) -> KerberosError {
        guard let realm = realm?.escapedForDisplay() else {
            return KerberosError(.noCredentials, subject: "", message: "not signed in. Sign in with: ksso login")
        }
        let command = "ksso login\(isDefault ? "" : " --realm \(realm)")"
        return KerberosError(.noCredentials, subject: "", message: "not signed in to \(realm). Sign in with: \(command)")
    }

    /// No principal was named, and the KDC does not know the user's name.
    static func unknownUser(_ error: KerberosError) -> KerberosError {
        KerberosError(
            error.code,
            subject: error.subject,
            message: "no one is signed in, and the KDC does not know this user. Sign in with: ksso login NAME"
        )
    }

    /// The default cache holds another principal's tickets, and there is no other place.
    static func occupied(_ cache: CredentialCacheName, by principal: Principal?) -> KerberosError {
        let owner = principal.map { "\($0)" } ?? "another principal"
        return KerberosError(
            .cacheUnusable,
            subject: cache.rawValue,
            message:
                "the cache contains the tickets of \(owner), which a second sign-in would overwrite. Use another cache, or sign out first."
        )
    }

    /// The ticket cannot be reacquired without prompting a person.
    static func needsPerson(_ principal: Principal) -> KerberosError {
        KerberosError(
            .notInteractive,
            subject: principal.description,
            message: "the ticket cannot be renewed without prompting for the password. Sign in again with: ksso login --force \(principal)"
        )
    }
}

extension AuthorizationError {
    /// Maps an error of libkrb5 or GSSAPI to the extension's own codes. Keeps the message and the cause.
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
