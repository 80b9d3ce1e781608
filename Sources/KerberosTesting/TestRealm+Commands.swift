extension TestRealm {
    /// Runs a program in the realm's ``environment`` and collects what it writes.
    ///
    /// A bare name is looked up in `PATH` and then in `/usr/sbin` and the like. A task that is cancelled kills the program.
    /// - Parameters:
    ///   - executable: A name such as `kinit`, or a path.
    ///   - arguments: The words after the name; no shell reads them.
    ///   - extra: Variables to add to the environment or to replace in it.
    ///   - input: What the program reads from standard input, such as a password and a line break; none if nil.
    /// - Returns: The result, whatever the exit status.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing`, or what starting the program throws.
    public func run(
        _ executable: String,
        _ arguments: [String],
        environment extra: [String: String] = [:],
        input: String? = nil
    ) async throws -> CommandResult {
        try await Command.run(
            executable,
            arguments,
            environment: environment.merging(extra) { $1 },
            input: input,
            scratch: directory
        )
    }
}
