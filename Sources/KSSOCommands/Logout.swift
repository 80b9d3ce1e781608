internal import ArgumentParser
internal import Foundation
internal import Kerberos
internal import KerberosSSO
internal import SSOAgentClient

struct Logout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sign out: destroy tickets that ksso acquired.",
        discussion: """
            With no principal and no realm, everybody who signed in with ksso. Tickets of kinit, sssd or the login stay unless --all is given. \
            Passwords that login --remember kept for them are forgotten.
            """
    )

    @Argument(help: "Who signs out.")
    var principal: String?
    @Option(help: "Everybody of this realm; or the realm of a principal that names none.")
    var realm: String?
    @Flag(help: "Destroy tickets that other programs acquired as well.")
    var all = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { sso in
            let whom: Principal? = if let principal { try await sso.principal(principal, realm: realm) } else { nil }
            let result = try await sso.signOut(whom, realm: whom == nil ? realm : nil, includingOthers: all)
            var ended = result.ended.map(\.principal)
            if all {
                let others = try await SystemSignOut(environment: ProcessInfo.processInfo.environment).run(whom, realm: realm)
                ended += others.filter { !ended.contains($0) }
            }
            for principal in ended { Console.print("\(principal) is signed out.") }
            for principal in result.forgotten { Console.print("The password that was kept for \(principal) is forgotten.") }
            for session in result.left {
                Console.report("\(session.principal): another program acquired this ticket; to destroy it as well: ksso logout --all")
            }
            if let whom, ended.isEmpty, result.left.isEmpty, result.forgotten.isEmpty {
                throw CommandFailure(.notSignedIn, "\(whom): not signed in.")
            }
            if ended.isEmpty, result.forgotten.isEmpty {
                Console.note(result.left.isEmpty ? "nobody is signed in." : "nothing was destroyed.")
            }
            if let kept = RuntimeDirectory(environment: ProcessInfo.processInfo.environment).keptTickets {
                throw CommandFailure(.failed, kept.sentence)
            }
            if whom != nil, !result.left.isEmpty { throw CommandFailure(.failed) }
        }
    }
}
