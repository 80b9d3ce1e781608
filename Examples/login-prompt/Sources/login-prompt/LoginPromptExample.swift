import Foundation
import KerberosSSO

/// A command line tool that signs in if necessary: `login-prompt [PRINCIPAL]`
///
/// If the user is signed in already, it does not prompt. Otherwise it prompts on the terminal, even if standard input and output are
/// redirected. Every Kerberos program of the user can use the ticket.
@main enum LoginPromptExample {
    static func main() async {
        do {
            let sso = try await SingleSignOn(.automatic)
            let session = try await sso.signInIfNeeded(CommandLine.arguments.dropFirst().first, prompt: .terminal)
            print("Hello \(session.principal), until \(session.ticketExpires.formatted(.iso8601))")
        } catch let error as KerberosError where error.code == .canceled {
            exit(130)
        } catch {
            FileHandle.standardError.write(Data("login-prompt: \(error)\n".utf8))
            exit(1)
        }
    }
}
