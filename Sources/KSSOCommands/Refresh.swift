internal import ArgumentParser
internal import Kerberos
internal import KerberosSSO

struct Refresh: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Renew the ticket, or acquire it again, from its keytab, by a kept password or its certificate; asks for the PIN alone."
    )

    @Argument(help: "Whose ticket; by default everybody's who is signed in.")
    var principal: String?
    @Option(help: "Everybody of this realm; or the realm of a principal that names none.")
    var realm: String?
    @Flag(help: "Read the certificate's PIN from standard input: its first line.")
    var passwordStdin = false
    @Flag(name: [.long, .short], help: "Print nothing on success, and never ask.")
    var quiet = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { sso in
            let whom: Principal? = if let principal { try await sso.principal(principal, realm: realm) } else { nil }
            let realm: String? = if let realm { await sso.kerberos.knownRealm(realm) } else { nil }
            let list = try await sso.sessions()
            let sessions = whom.map(list.sessions(of:)) ?? list.sessions.filter { realm == nil || $0.realm == realm }
            guard !sessions.isEmpty else {
                throw CommandFailure(.notSignedIn, "\(whom.map { "\($0)" } ?? realm ?? "refresh"): not signed in. Sign in with: ksso login")
            }
            let prompter = try await prompter()
            var failure: CommandFailure?
            for session in sessions {
                do {
                    let renewed = try await sso.refresh(session, prompter: prompter)
                    if !quiet { Console.print("\(renewed.principal) is signed in until \(Console.text(renewed.ticketExpires)).") }
                } catch {
                    if let earlier = failure { earlier.report() }
                    failure = CommandFailure(error, verbose: common.isVerbose)
                }
            }
            if let failure { throw failure }
        }
    }

    /// Who gives a PIN.
    private func prompter() async throws -> (any Prompter)? {
        if passwordStdin { return GivenAnswer(try await StandardInput.secretLine()) }
        return quiet || !Console.hasTerminal ? nil : .terminal
    }
}
