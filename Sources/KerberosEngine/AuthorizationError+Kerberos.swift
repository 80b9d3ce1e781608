package import HTTPNegotiate
package import Kerberos

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
