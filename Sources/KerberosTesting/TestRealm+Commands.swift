extension TestRealm {
    /// Runs a program in the realm's ``environment``, with its trace in ``tracePath``, and collects what it writes.
    ///
    /// A bare name is looked up in `PATH` and then in `/usr/sbin` and the like. A task that is cancelled kills the program.
    /// - Parameters:
    ///   - executable: A name such as `kinit`, or a path.
    ///   - arguments: The words after the name; no shell reads them.
    ///   - extra: Variables to add to the environment or to replace in it.
    ///   - input: What the program reads from standard input, such as a password and a line break; none if nil.
    ///   - clockOffset: How far the program's clock is from the machine's, in whole seconds, by libfaketime; the machine's clock if nil.
    ///     libfaketime does not work in a program that was built with a sanitizer.
    ///   - deadline: How long the program may run before it is killed.
    /// - Returns: The result, whatever the exit status.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` (libfaketime's too) or, after the deadline, `commandFailed`; or
    ///   what starting the program throws.
    public func run(
        _ executable: String,
        _ arguments: [String],
        environment extra: [String: String] = [:],
        input: String? = nil,
        clockOffset: Duration? = nil,
        deadline: Duration = .seconds(600)
    ) async throws -> CommandResult {
        let clock = try clockOffset.map(ClockLibrary.environment) ?? [:]
        let values = environment.merging(["KRB5_TRACE": tracePath]) { $1 }.merging(clock) { $1 }.merging(extra) { $1 }
        return try await Command.run(
            executable,
            arguments,
            environment: values,
            input: input,
            scratch: directory,
            deadline: deadline
        )
    }
}
