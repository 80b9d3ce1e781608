internal import ExtensionProfile
internal import HTTPNegotiate
internal import Kerberos

/// How a command ends when it does not succeed: one line for a person, a status for a script.
struct CommandFailure: Error {
    let status: ExitStatus
    /// One line; nothing is printed if it is empty.
    let message: String
    /// The lines that follow it, such as libkrb5's own text.
    let details: [String]

    init(_ status: ExitStatus, _ message: String = "", details: [String] = []) {
        self.status = status
        self.message = message
        self.details = details
    }

    /// A failure whose text may have several lines, such as a program's output.
    init(_ status: ExitStatus, lines text: String) {
        let lines = text.split(separator: "\n").map(String.init)
        self.init(status, lines.first ?? "", details: Array(lines.dropFirst()))
    }

    /// Prints it to standard error.
    func report() {
        guard !message.isEmpty else { return }
        Console.report(message)
        for line in details { Console.note(line) }
    }

    /// The line for an error of any layer; the library's own text and code follow where the user asked for detail.
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
            // The ticket looks valid: without --force it would be left as it is.
            let advice = " Sign in again."
            if text.hasSuffix(advice) { text.removeLast(advice.count) }
            text += " Sign in again with: ksso login --force\(error.client.map { " \($0)" } ?? "")"
        }
        let detail = "  libkrb5: \(error.libraryMessage) (code \(error.libraryCode))"
        self.init(status, text, details: verbose && error.libraryCode != 0 ? [detail] : [])
    }
}
