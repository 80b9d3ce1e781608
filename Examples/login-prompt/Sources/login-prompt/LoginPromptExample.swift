import Foundation
import Kerberos
import KerberosSSO

/// A command line tool of one's own that signs in when it has to: `login-prompt [PRINCIPAL]`
///
/// Who is signed in already is not asked. Else the question is on the terminal, also where standard input and output lead elsewhere, and
/// the ticket is for every Kerberos program of the user.
@main enum LoginPromptExample {
    static func main() async {
        do {
            let sso = try await SingleSignOn(.automatic)
            let name = CommandLine.arguments.dropFirst().first
            let wanted = try await sso.principal(name)
            var session = try await sso.sessions().sessions.first { $0.principal == wanted && $0.isSignedIn }
            if session == nil { session = try await sso.signIn(name, prompt: .terminal) }
            if let session { print("Hello \(session.principal), until \(session.ticketExpires.formatted(.iso8601))") }
        } catch let error as KerberosError where error.code == .canceled {
            exit(130)
        } catch {
            FileHandle.standardError.write(Data("login-prompt: \(error)\n".utf8))
            exit(1)
        }
    }
}
