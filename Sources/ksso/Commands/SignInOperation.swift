internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

/// The sign-in of `ksso login` and `ksso setup`: prompts if necessary, and prints who is signed in.
struct SignInOperation {
    /// The principal; nil is the profile's principal, or else the user's name.
    var principal: String?
    /// The realm of a principal without one.
    var realm: String?
    /// The credential to sign in with.
    var credential = CredentialChoice()
    var ticket = RequestedTicket()
    /// Whether the password is stored.
    var remembers = false
    /// Whether to print nothing on success, and never to prompt.
    var isQuiet = false
    /// Whether later sign-ins without a name use the principal, as after one that the user was asked for.
    var recordsPrincipal = false
    /// Whether the session of any principal of the realm makes a sign-in without a principal unnecessary. Its principal is recorded if
    /// none is.
    var acceptsAnyPrincipal = false
    /// The command that signs in as another principal, without that principal.
    var otherPrincipalCommand = "ksso login"

    /// Signs in.
    ///
    /// - Parameter armorCache: The cache whose ticket armors the sign-in (FAST).
    func run(_ engine: EngineOptions, armorCache: String? = nil) async throws {
        try ArmorCaches.check(armorCache)
        try credential.check()
        // The engine changes the environment of this process.
        let environment = ProcessInfo.processInfo.environment
        try await engine.run(armorCache: armorCache) { sso in
            let runtime = RuntimeDirectory(environment: environment)
            if let (session, isNew) = try await sufficientSession(sso) {
                let again = "To sign in again: ksso login --force \(session.principal)"
                say(
                    isNew
                        ? "\(session.principal): a new ticket was acquired, valid until \(session.ticketExpires.localText)."
                        : "\(session.principal) is signed in already, until \(session.ticketExpires.localText). \(again)"
                )
                if recordsPrincipal || mayRecord(session, sso) { await record(session.principal, sso, environment) }
                printNotice(session, sso)
                printOtherCache(runtime, environment)
                return
            }
            let kept = runtime.keptTickets
            if let kept, !isQuiet { Console.note(kept.note) }
            let (session, place, isAsked) = try await signInAskingForName(sso)
            if let alias = session.alias { say("\(alias.displayName) is \(session.principal).") }
            say("\(session.principal) is signed in until \(session.ticketExpires.localText), in \(session.cache).")
            if recordsPrincipal || isAsked { await record(session.principal, sso, environment) }
            if let place { say("The password is stored \(place). To remove it: ksso logout \(session.principal)") }
            printNotice(await describing(session, sso, hasAgent: runtime.cacheSocket != nil), sso)
            if ticket.cache == nil { printOtherCache(runtime, environment) }
            guard let validFor = ticket.validFor, !ticket.isLongEnough(session) else { return }
            let limit = "the new ticket is valid for less than \(validFor.argument), because the KDC limits its lifetime"
            throw CommandFailure(.failed, "\(session.principal): \(limit). Use a shorter --valid-for.")
        }
    }

    /// Prints to standard error if other programs, started by the same shell, do not use the agent's caches.
    private func printOtherCache(_ runtime: RuntimeDirectory, _ environment: [String: String]) {
        guard !isQuiet, let socket = runtime.cacheSocket, !KerberosEnvironment.reaches(socket, environment: environment) else { return }
        Console.note("klist and curl in this shell use another cache. To share the tickets with them: eval \"$(ksso env)\"")
    }

    /// Signs in. If no principal is given and the KDC does not know the name of the account, asks for the right name.
    ///
    /// - Returns: The session, the place where the password is stored, if any, and whether the user was asked for the name.
    private func signInAskingForName(_ sso: SingleSignOn) async throws -> (session: Session, place: String?, isAsked: Bool) {
        do {
            let (session, place) = try await signIn(as: nameToSignIn(sso), sso)
            return (session, place, false)
        } catch let error as KerberosError where error.code == .unknownPrincipal && principal == nil && credential.keytab == nil {
            let question = UserNameQuestion(realm: try await sso.principal(nil, realm: realm).realm, sso: sso)
            guard question.isOpen else { throw error }
            let advice =
                "the KDC does not know this principal. If you have another name in the realm, use: "
                + "\(otherPrincipalCommand) NAME@\(question.realm)"
            let unknown = UnknownAccountName(error: error.saying(advice))
            guard !isQuiet, !credential.readsSecret, Console.hasTerminal else { throw unknown }
            let (session, place) = try await question.ask(unknown) { try await signIn(as: $0.description, sso) }
            return (session, place, true)
        }
    }

    private func signIn(as name: String?, _ sso: SingleSignOn) async throws -> (session: Session, place: String?) {
        guard remembers else {
            let source = try await source(for: name, sso)
            let options = try await options(for: name, sso)
            return (try await sso.signIn(name, realm: realm, using: source, options: options, cache: ticket.cache), nil)
        }
        let whom = try await sso.principal(name, realm: realm)
        try await sso.kerberos.checkRemembering(of: whom)
        let source = try await source(for: name, sso)
        let options = try await options(for: name, sso)
        let result = try await sso.signInRemembering(
            whom.description,
            realm: whom.realm,
            using: source,
            options: options,
            cache: ticket.cache
        )
        return (result.session, result.place)
    }

    /// Stores the principal for later sign-ins. A failure is only reported, because the user is signed in.
    private func record(_ principal: Principal, _ sso: SingleSignOn, _ environment: [String: String]) async {
        do {
            let question = UserNameQuestion(realm: principal.realm, sso: sso)
            let recording = try await question.record(principal, environment: environment)
            if !isQuiet { recording.report(principal) }
        } catch {
            Console.report("warning: the name for later sign-ins was not stored: \(CommandFailure(error, verbose: false).message)")
        }
    }

    /// Whether the principal of a session that was found is recorded. A recorded one is not replaced without being named.
    private func mayRecord(_ session: Session, _ sso: SingleSignOn) -> Bool {
        let configurations = sso.profiles.flatMap(\.configurations)
        return acceptsAnyPrincipal && !configurations.contains { $0.realm == session.realm && $0.userPrincipal != nil }
    }

    private func say(_ text: String) {
        if !isQuiet { Console.print(text) }
    }

    /// The session with what the directory of its domain says about the account, if it says that at once: the user is signed in, and waits
    /// only for the shell. An agent reads it by itself.
    private func describing(_ session: Session, _ sso: SingleSignOn, hasAgent: Bool) async -> Session {
        guard !hasAgent, session.cache.type != "MEMORY" else { return session }
        let isRead = await firstResult(within: .seconds(1), cancelsLateWork: false) { (try? await sso.readAccount(of: session)) != nil }
        guard isRead == true else { return session }
        return (try? await sso.sessions())?.sessions.first { $0.cache == session.cache } ?? session
    }

    /// Prints to standard error that the password expires soon.
    private func printNotice(_ session: Session, _ sso: SingleSignOn) {
        guard !isQuiet, let notice = session.passwordNotice(sso.kerberos.passwordRules(for: session.realm)) else { return }
        Console.note("\(session.principal): \(notice)")
    }

    /// A session that makes a sign-in unnecessary, and whether its ticket was renewed or acquired for that; nil if there is none.
    private func sufficientSession(_ sso: SingleSignOn) async throws -> (session: Session, isNew: Bool)? {
        guard !ticket.isForced, !remembers, ticket.cache == nil else { return nil }
        if let validFor = ticket.validFor {
            let (wanted, realm) = try await wantedSession(sso)
            let valid = try await sso.kerberos.validSession(of: wanted, orDefaultOf: realm, validFor: validFor.duration)
            return valid.map { ($0.session, $0.isNew) }
        }
        guard !credential.replacesSession else { return nil }
        if acceptsAnyPrincipal, principal == nil {
            let (wanted, realm) = try await wantedSession(sso)
            let session = try await sso.sessions().session(of: wanted, orDefaultOf: realm)
            return session.flatMap { $0.isSignedIn ? ($0, false) : nil }
        }
        let wanted = try await sso.principal(principal, realm: realm)
        return try await sso.sessions().sessions(of: wanted).first(where: \.isSignedIn).map { ($0, false) }
    }

    /// The options of the request, with a lifetime that is long enough for `--valid-for`.
    private func options(for name: String?, _ sso: SingleSignOn) async throws -> InitialCredentialOptions {
        guard let validFor = ticket.validFor else { return ticket.options }
        let realm = try await wanted(name, sso).realm
        return await sso.kerberos.signInOptions(ticket.options, in: realm, validFor: validFor.duration)
    }

    /// The principal whose session is sufficient, and its realm; without a principal, any session of the realm is.
    private func wantedSession(_ sso: SingleSignOn) async throws -> (principal: Principal?, realm: String) {
        try await sso.kerberos.wantedPrincipal(principal, realm: realm, using: credential.keytab.map { .keytab($0) })
    }

    /// The name of the principal that signs in; nil is the default principal. If a session that is not valid for as long as required makes
    /// the sign-in necessary, it is the principal of that session.
    private func nameToSignIn(_ sso: SingleSignOn) async throws -> String? {
        guard principal == nil, ticket.validFor != nil, !ticket.isForced, !remembers, ticket.cache == nil, credential.keytab == nil else {
            return principal
        }
        let (wanted, realm) = try await wantedSession(sso)
        return try await sso.sessions().session(of: wanted, orDefaultOf: realm)?.principal.description
    }

    /// The principal that signs in.
    private func wanted(_ name: String?, _ sso: SingleSignOn) async throws -> Principal {
        try await sso.kerberos.principal(signingIn: name, realm: realm, using: credential.keytab.map { .keytab($0) })
    }

    private func source(for name: String?, _ sso: SingleSignOn) async throws -> InitialCredentialSource {
        try await credential.source(for: name, realm: realm, mayAsk: !isQuiet, sso)
    }
}

/// The ticket that a sign-in requests.
struct RequestedTicket {
    var options = InitialCredentialOptions()
    /// The cache for the ticket; nil is the default one.
    var cache: CredentialCacheName?
    /// Whether to request it even if a valid ticket exists.
    var isForced = false
    /// How long a ticket must stay valid to make a sign-in unnecessary; nil accepts every valid ticket.
    var validFor: Lifetime?

    /// Whether the ticket of a session is valid for as long as required.
    func isLongEnough(_ session: Session) -> Bool { session.isValid(at: Date().addingTimeInterval(validFor?.seconds ?? 0)) }
}
