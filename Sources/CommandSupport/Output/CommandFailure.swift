/// A command's failure: one line for a person, an exit status for a script.
package struct CommandFailure: Error {
    package let status: ExitStatus
    /// One line; nothing is printed if it is empty.
    package let message: String
    /// The lines that follow it, such as libkrb5's message.
    package let details: [String]
    /// The error that it reports, if a caller has to know it.
    package var cause: (any Error)?

    package init(_ status: ExitStatus, _ message: String = "", details: [String] = []) {
        self.status = status
        self.message = message
        self.details = details
    }

    /// Creates a failure whose text may have several lines, such as a program's output.
    package init(_ status: ExitStatus, lines text: String) {
        let lines = text.split(separator: "\n").map(String.init)
        self.init(status, lines.first ?? "", details: Array(lines.dropFirst()))
    }

    /// Prints the failure to standard error.
    package func report() {
        guard !message.isEmpty else { return }
        Console.report(message)
        for line in details { Console.note(line) }
    }
}

/// The exit status of the process.
package struct ExitStatus: RawRepresentable, Sendable, Equatable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let done = ExitStatus(rawValue: 0)
    package static let failed = ExitStatus(rawValue: 1)
    package static let notHandled = ExitStatus(rawValue: 3)
    package static let notInteractive = ExitStatus(rawValue: 4)
    package static let notSignedIn = ExitStatus(rawValue: 5)
    package static let kdcUnreachable = ExitStatus(rawValue: 6)
    package static let serverRefused = ExitStatus(rawValue: 22)
    package static let usage = ExitStatus(rawValue: 64)
    /// EX_TEMPFAIL of sysexits.h: an agent exits with it to be started again.
    package static let temporaryFailure = ExitStatus(rawValue: 75)
    package static let canceled = ExitStatus(rawValue: 130)
    /// 128 plus SIGPIPE's number, as a shell reports it.
    package static let brokenPipe = ExitStatus(rawValue: 141)
}
