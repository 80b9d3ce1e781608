/// A command's failure: one line for a person, an exit status for a script.
package struct CommandFailure: Error {
    package let status: ExitStatus
    /// One line; nothing is printed if it is empty.
    package let message: String
    /// The lines that follow it, such as libkrb5's message.
    package let details: [String]

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
