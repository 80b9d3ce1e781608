internal import Kerberos
internal import KerberosSSO

/// Who asks for the passwords that an agent needs, and what stands in the way of that.
struct AgentPrompter: Sendable {
    /// Nil where there is neither a program nor a place to ask.
    let prompter: (any Prompter)?
    /// For `KerberosExtension/Options/nobodyToAsk`.
    let nobodyToAsk: @Sendable () -> Void
    /// Why nobody can be asked, and nil when somebody was again.
    let faults: AsyncStream<String?>

    /// - Parameters:
    ///   - program: the pinentry program; nil is the machine's, where there is a place to ask.
    ///   - environment: the agent's variables. `GPG_TTY` is GnuPG's own for the terminal that a program without a window may use.
    init(program: String?, environment: [String: String]) {
        let (faults, continuation) = AsyncStream.makeStream(of: String?.self)
        let terminal = environment["GPG_TTY"].flatMap { $0.isEmpty ? nil : $0 }
        let canAsk = program != nil || PinentryPrompter.hasPlace(terminal: terminal, environment: environment)
        prompter =
            if canAsk {
                PinentryPrompter(
                    program: program ?? "pinentry",
                    terminal: terminal,
                    environment: environment,
                    report: { continuation.yield($0) }
                )
            } else {
                nil
            }
        nobodyToAsk = { continuation.yield(PinentryPrompter.missingPlace) }
        self.faults = faults
    }
}
