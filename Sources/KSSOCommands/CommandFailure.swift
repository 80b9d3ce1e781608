internal import ExtensionProfile
internal import HTTPNegotiate
internal import Kerberos

/// How a command ends when it does not succeed: one line for a person, a status for a script.
struct CommandFailure: Error {
    let status: ExitStatus
    let message: String

    init(_ status: ExitStatus, _ message: String = "") {
        self.status = status
        self.message = message
    }

    /// The line for an error of any layer; the library's own text and code follow where the user asked for detail.
    init(_ error: any Error, verbose: Bool) {
        switch error {
        case let failure as CommandFailure:
            self = failure
        case let error as KerberosError:
            self.init(ExitStatus(error.code), Self.text(error, verbose: verbose))
        case let error as AuthorizationError:
            let cause = error.cause as? KerberosError
            self.init(ExitStatus(error.code), cause.map { Self.text($0, verbose: verbose) } ?? error.message)
        case let error as ProfileError:
            self.init(.failed, error.message)
        case is CancellationError:
            self.init(.canceled, "canceled.")
        default:
            self.init(.failed, "\(error)")
        }
    }

    private static func text(_ error: KerberosError, verbose: Bool) -> String {
        var text = error.description
        if error.code == .wrongPassword, error.subject.contains("@"), !error.message.contains("keytab") {
            text += " Try again with: ksso login \(error.subject)"
        }
        if error.code == .ticketRefused {
            // The ticket looks valid: without --force it would be left as it is.
            let advice = " Sign in again."
            if text.hasSuffix(advice) { text.removeLast(advice.count) }
            text += " Sign in again with: ksso login --force\(error.client.map { " \($0)" } ?? "")"
        }
        if verbose, error.libraryCode != 0 { text += "\n  libkrb5: \(error.libraryMessage) (code \(error.libraryCode))" }
        return text
    }
}
