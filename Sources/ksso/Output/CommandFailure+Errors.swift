internal import CommandSupport
internal import ExtensionProfile
internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

extension CommandFailure {
    /// Creates the failure for an error of any layer. If `verbose` is true, the library's message and code follow.
    init(_ error: any Error, verbose: Bool) {
        switch error {
        case let failure as CommandFailure:
            self = failure
        case let error as KerberosError:
            self.init(error, ExitStatus(error.code), verbose: verbose)
            cause = error
        case let error as AuthorizationError:
            if let cause = error.cause as? KerberosError {
                self.init(cause, ExitStatus(error.code), verbose: verbose)
            } else {
                self.init(ExitStatus(error.code), error.message)
            }
        case let unknown as UnknownAccountName:
            self.init(unknown.error, verbose: verbose)
            cause = unknown
        case let error as ProfileError:
            self.init(.failed, error.message)
        case is CancellationError:
            self.init(.canceled, "canceled.")
        default:
            self.init(.failed, lines: "\(error)")
        }
    }

    private init(_ error: KerberosError, _ status: ExitStatus, verbose: Bool) {
        var text = Self.namingSignIn(error)
        if error.code == .wrongPassword, error.subject.contains("@"), !error.message.contains("keytab") {
            text += " Try again with: ksso login \(error.subject.escapedForDisplay())"
        }
        let detail = "  libkrb5: \(error.libraryMessage) (code \(error.libraryCode))"
        self.init(status, text, details: verbose && error.libraryCode != 0 ? [detail] : [])
    }

    /// Returns the text of an error. If it ends with the advice to sign in, which a library gives without a command, the command follows.
    private static func namingSignIn(_ error: KerberosError) -> String {
        let text = error.description
        // Without --force, a sign-in does not replace a ticket that looks valid.
        let isForced = error.code != .ticketExpired && error.code != .cacheCorrupt && !text.hasSuffix(" Sign in first.")
        let command = "ksso login\(isForced ? " --force" : "")\(error.client.map { " \($0)" } ?? "")"
        let endings = [
            (" Sign in again.", " Sign in again with: "), (" Sign in first.", " Sign in with: "), (", then sign in again.", ", then run: "),
        ]
        for (advice, start) in endings where text.hasSuffix(advice) { return "\(text.dropLast(advice.count))\(start)\(command)" }
        return error.code == .ticketRefused ? "\(text) Sign in again with: \(command)" : text
    }
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
