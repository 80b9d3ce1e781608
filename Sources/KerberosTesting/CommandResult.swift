/// What a program that was run left behind.
public struct CommandResult: Sendable, Hashable {
    /// The exit status, or 128 plus the signal's number if a signal ended it, as a shell counts.
    public let exitStatus: Int
    /// What it wrote to standard output.
    public let output: String
    /// What it wrote to standard error.
    public let errors: String

    /// Creates a result.
    public init(exitStatus: Int, output: String, errors: String) {
        self.exitStatus = exitStatus
        self.output = output
        self.errors = errors
    }
}
