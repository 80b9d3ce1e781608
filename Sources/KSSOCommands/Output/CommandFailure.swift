internal import ExtensionProfile
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosTesting
internal import NegotiateAsyncHTTPClient

/// A command's failure: one line for a person, an exit status for a script.
struct CommandFailure: Error {
    let status: ExitStatus
    /// One line; nothing is printed if it is empty.
    let message: String
    /// The lines that follow it, such as libkrb5's message.
    let details: [String]

    init(_ status: ExitStatus, _ message: String = "", details: [String] = []) {
        self.status = status
        self.message = message
        self.details = details
    }

    /// Creates a failure whose text may have several lines, such as a program's output.
    init(_ status: ExitStatus, lines text: String) {
        let lines = text.split(separator: "\n").map(String.init)
        self.init(status, lines.first ?? "", details: Array(lines.dropFirst()))
    }

    /// Prints the failure to standard error.
    func report() {
        guard !message.isEmpty else { return }
        Console.report(message)
        for line in details { Console.note(line) }
    }

    /// Creates the failure for an error of any layer. If `verbose` is true, the library's message and code follow.
    init(_ error: any Error, verbose: Bool) {
        switch error {
        case let failure as CommandFailure:
            self = failure
        case let error as KerberosError:
            self.init(error, ExitStatus(error.code), verbose: verbose)
        case let error as AuthorizationError:
            if let cause = error.cause as? KerberosError {
                self.init(cause, ExitStatus(error.code), verbose: verbose)
            } else {
                self.init(ExitStatus(error.code), error.message)
            }
        case let error as ProfileError:
            self.init(.failed, error.message)
        case is CancellationError:
            self.init(.canceled, "canceled.")
        default:
            self.init(.failed, lines: "\(error)")
        }
    }

    private init(_ error: KerberosError, _ status: ExitStatus, verbose: Bool) {
        var text = error.description
        if error.code == .wrongPassword, error.subject.contains("@"), !error.message.contains("keytab") {
            text += " Try again with: ksso login \(error.subject.escapedForDisplay())"
        }
        if error.code == .ticketRefused {
            // The ticket looks valid, so that a sign-in without --force would not replace it.
            let advice = " Sign in again."
            if text.hasSuffix(advice) { text.removeLast(advice.count) }
            text += " Sign in again with: ksso login --force\(error.client.map { " \($0)" } ?? "")"
        }
        let detail = "  libkrb5: \(error.libraryMessage) (code \(error.libraryCode))"
        self.init(status, text, details: verbose && error.libraryCode != 0 ? [detail] : [])
    }
}

/// The exit status of the process.
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
    /// EX_TEMPFAIL of sysexits.h: an agent exits with it to be started again.
    static let temporaryFailure = ExitStatus(rawValue: 75)
    static let canceled = ExitStatus(rawValue: 130)
    /// 128 plus SIGPIPE's number, as a shell reports it.
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
