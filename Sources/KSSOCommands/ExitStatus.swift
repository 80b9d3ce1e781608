internal import ExtensionProfile
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosTesting
internal import NegotiateAsyncHTTPClient

/// What the process's end tells a script.
struct ExitStatus: RawRepresentable, Sendable, Equatable {
    let rawValue: Int32

    static let done = ExitStatus(rawValue: 0)
    static let failed = ExitStatus(rawValue: 1)
    static let notHandled = ExitStatus(rawValue: 3)
    static let notInteractive = ExitStatus(rawValue: 4)
    static let notSignedIn = ExitStatus(rawValue: 5)
    static let kdcUnreachable = ExitStatus(rawValue: 6)
    static let serverRefused = ExitStatus(rawValue: 22)
    static let usage = ExitStatus(rawValue: 64)
    /// EX_TEMPFAIL of sysexits.h: an agent ends so to be started again.
    static let temporaryFailure = ExitStatus(rawValue: 75)
    static let canceled = ExitStatus(rawValue: 130)
    /// 128 and SIGPIPE's number, as a shell reports it.
    static let brokenPipe = ExitStatus(rawValue: 141)
}

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
