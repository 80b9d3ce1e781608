internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

struct Logout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Sign out: destroy tickets that ksso acquired.",
        discussion: """
            Without a principal or a realm, signs out every principal that signed in with ksso. Tickets from kinit, sssd or the login are \
            not destroyed unless --all is given. Passwords that ksso login --remember stored for these principals are removed.

            EXAMPLES:
              ksso logout
              ksso logout --all
            """
    )

    @Argument(help: "The principal to sign out; by default every one.", completion: .signedInPrincipal)
    var principal: String?
    @Option(help: "Select every principal of this realm, or the realm of a principal given without one.", completion: .realm)
    var realm: String?
    @Flag(help: "Also destroy tickets that other programs acquired.")
    var all = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run { sso in
            let whom: Principal? = if let principal { try await sso.principal(principal, realm: realm) } else { nil }
            let result =
                if let whom { try await sso.signOut(whom, includingOthers: all) } else {
                    try await sso.signOutAll(realm: realm, includingOthers: all)
                }
            var ended = result.ended.map(\.principal)
            if all {
                let others = try await SystemSignOut(environment: ProcessInfo.processInfo.environment).run(whom, realm: realm)
                ended += others.filter { !ended.contains($0) }
            }
            for principal in ended { Console.print("\(principal) is signed out.") }
            for principal in result.forgotten { Console.print("The stored password of \(principal) was removed.") }
            for session in result.left {
                Console.report("\(session.principal): another program acquired this ticket. To destroy it as well: ksso logout --all")
            }
            if let whom, ended.isEmpty, result.left.isEmpty, result.forgotten.isEmpty {
                throw CommandFailure(.notSignedIn, "\(whom): not signed in.")
            }
            if ended.isEmpty, result.forgotten.isEmpty {
                Console.note(result.left.isEmpty ? "not signed in." : "no ticket was destroyed.")
            }
            if let kept = RuntimeDirectory(environment: ProcessInfo.processInfo.environment).keptTickets {
                throw CommandFailure(.failed, kept.sentence)
            }
            if whom != nil, !result.left.isEmpty { throw CommandFailure(.failed) }
        }
    }
}

/// Signs out of the system's default cache while an agent's caches are the default ones, because the next agent would import its tickets.
struct SystemSignOut {
    let environment: [String: String]

    /// Destroys all tickets there, including those of other programs.
    ///
    /// - Returns: The principals that were signed out; empty if no agent is running, because then there are no other caches.
    func run(_ principal: Principal?, realm: String?) async throws -> [Principal] {
        guard RuntimeDirectory(environment: environment).cacheSocket != nil else { return [] }
        var settings = SingleSignOn.Settings()
        settings.base = .files(RuntimeDirectory.systemConfigurationFiles(environment: environment))
        let name = try await KerberosClient(RealmConfiguration(realm: "", base: settings.base)).defaultCacheName()
        guard name.type != "KCM" else { return [] }
        settings.defaultCacheName = name.rawValue
        let system = try await SingleSignOn(.inProcess([]), settings: settings)
        let result =
            if let principal { try await system.signOut(principal, includingOthers: true) } else {
                try await system.signOutAll(realm: realm, includingOthers: true)
            }
        return result.ended.map(\.principal)
    }
}

struct Refresh: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Renew the ticket, or reacquire it with its keytab, a stored password or its certificate; prompts only for the PIN.",
        discussion: """
            EXAMPLES:
              ksso refresh
              ksso refresh alice@CORP.EXAMPLE
            """
    )

    @Argument(help: "The principal whose ticket is renewed; by default every one that is signed in.", completion: .signedInPrincipal)
    var principal: String?
    @Option(help: "Select every principal of this realm, or the realm of a principal given without one.", completion: .realm)
    var realm: String?
    @Flag(help: "Read the certificate's PIN from the first line of standard input.")
    var passwordStdin = false
    @Flag(name: [.long, .short], help: "Print nothing on success, and never prompt.")
    var quiet = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run { sso in
            let whom: Principal? = if let principal { try await sso.principal(principal, realm: realm) } else { nil }
            let realm: String? = if let realm { await sso.names.knownRealm(realm) } else { nil }
            let list = try await sso.sessions()
            let sessions = whom.map(list.sessions(of:)) ?? list.sessions.filter { realm == nil || $0.realm == realm }
            guard !sessions.isEmpty else {
                throw whom.map(KerberosError.notSignedIn) ?? .notSignedIn(toRealm: realm)
            }
            let prompter = try await prompter()
            var failure: CommandFailure?
            for session in sessions {
                do {
                    let renewed = try await sso.refresh(session, prompt: prompter)
                    if !quiet { Console.print("\(renewed.principal) is signed in until \(renewed.ticketExpires.localTextWithTimeLeft).") }
                } catch {
                    if let earlier = failure { earlier.report() }
                    failure = CommandFailure(error, verbose: common.isVerbose)
                }
            }
            if let failure { throw failure }
        }
    }

    /// Returns the prompter for a PIN.
    private func prompter() async throws -> (any Prompter)? {
        if passwordStdin { return FixedAnswer(try await StandardInput.secretLine()) }
        return quiet || !Console.hasTerminal ? nil : .terminal
    }
}

struct Switch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Make a signed-in principal the default of its realm.",
        discussion: """
            EXAMPLES:
              ksso switch alice/admin@CORP.EXAMPLE
            """
    )

    @Argument(help: "The principal to use by default.", completion: .signedInPrincipal)
    var principal: String
    @Option(help: "The realm of a principal given without one.", completion: .realm)
    var realm: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run { sso in
            let session = try await sso.makeDefault(try await sso.principal(principal, realm: realm))
            Console.print("\(session.principal) is the default of \(session.realm).")
        }
    }
}
