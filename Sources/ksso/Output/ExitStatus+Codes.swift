internal import CommandSupport
internal import HTTPNegotiate
internal import Kerberos

extension ExitStatus {
    init(_ code: KerberosError.Code) {
        self =
            switch code {
            case .kdcUnreachable, .realmUnknown: .kdcUnreachable
            case .noCredentials, .ticketExpired, .ticketRefused: .notSignedIn
            case .notInteractive: .notInteractive
            case .canceled: .canceled
            default: .failed
            }
    }

    init(_ code: AuthorizationError.Code) {
        self =
            switch code {
            case .kdcUnreachable: .kdcUnreachable
            case .notSignedIn: .notSignedIn
            case .notInteractive: .notInteractive
            case .notHandled: .notHandled
            case .canceled: .canceled
            case .invalidURL: .usage
            default: .failed
            }
    }
}
