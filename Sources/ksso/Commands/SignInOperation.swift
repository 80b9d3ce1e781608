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
            let result = try await signIn(sso, runtime)
            let session = result.session
            if result.origin == .signedIn {
                if let alias = session.alias { say("\(alias.displayName) is \(session.principal).") }
                say("\(session.principal) is signed in until \(session.ticketExpires.localTextWithTimeLeft), in \(session.cache).")
                if recordsPrincipal || result.isAsked { await record(session.principal, sso, environment) }
                if let place = result.place { say("The password is stored \(place). To remove it: ksso logout \(session.principal)") }
                printNotice(await describing(session, sso, hasAgent: runtime.cacheSocket != nil), sso)
            } else {
                let again = "To sign in again: ksso login --force \(session.principal)"
                say(
                    result.origin == .renewed
                        ? "\(session.principal): a new ticket was acquired, valid until \(session.ticketExpires.localTextWithTimeLeft)."
                        : "\(session.principal) is signed in already, until \(session.ticketExpires.localTextWithTimeLeft). \(again)"
                )
                if recordsPrincipal || mayRecord(session, sso) { await record(session.principal, sso, environment) }
                printNotice(session, sso)
            }
            if ticket.cache == nil { printOtherCache(runtime, environment) }
            guard result.origin == .signedIn, let validFor = ticket.validFor, !ticket.isLongEnough(session) else { return }
            let limit = "the new ticket is valid for less than \(validFor.argument), because the KDC limits its lifetime"
            throw CommandFailure(.failed, "\(session.principal): \(limit). Use a shorter --valid-for.")
        }
    }

    /// The outcome of a sign-in that may not have been needed.
    private struct Outcome {
        let session: Session
        let origin: ValidSession.Origin
        /// The place where the password is stored; nil if it is not.
        var place: String?
        /// Whether the user was asked for the name.
        var isAsked = false
    }

    /// Prints to standard error if other programs, started by the same shell, do not use the agent's caches.
    private func printOtherCache(_ runtime: RuntimeDirectory, _ environment: [String: String]) {
        guard !isQuiet, let socket = runtime.cacheSocket, !KerberosEnvironment.reaches(socket, environment: environment) else { return }
        Console.note("klist and curl in this shell use another cache. To share the tickets with this shell: eval \"$(ksso env)\"")
    }

    /// Signs in if it is necessary. If no principal is given and the KDC does not know the name of the account, asks for the right name.
    private func signIn(_ sso: SingleSignOn, _ runtime: RuntimeDirectory) async throws -> Outcome {
        let kept = isQuiet ? nil : runtime.keptTickets?.note
        do {
            return try await signIn(as: principal, unless: sufficient, note: kept, sso)
        } catch let error as KerberosError where error.code == .unknownPrincipal && principal == nil && credential.keytab == nil {
            let question = UserNameQuestion(realm: try await sso.principal(nil, realm: realm).realm, sso: sso)
            guard question.isOpen else {
                throw error.saying("the KDC does not know this principal, which the profile names (principalName). Tell its author.")
            }
            let advice =
                "the KDC does not know this principal. If you have another name in the realm, use: "
                + "\(otherPrincipalCommand) NAME@\(question.realm)"
            let unknown = UnknownAccountName(error: error.saying(advice))
            guard !isQuiet, !credential.readsSecret, Console.hasTerminal else { throw unknown }
            var outcome = try await question.ask(unknown) { try await signIn(as: $0.description, unless: .none, sso) }
            outcome.isAsked = true
            return outcome
        }
    }

    /// Which session makes a sign-in unnecessary. A key requires no person, so it signs in unless the ticket must be valid for some time.
    private var sufficient: SufficientSession {
        guard !ticket.isForced, !remembers, ticket.cache == nil, ticket.validFor != nil || !credential.replacesSession else { return .none }
        return acceptsAnyPrincipal && principal == nil ? .presentInRealm : .present
    }

    /// - Parameter note: What to print before the sign-in, if it is necessary.
    private func signIn(
        as name: String?,
        unless sufficient: SufficientSession,
        note: String? = nil,
        _ sso: SingleSignOn
    ) async throws -> Outcome {
        let validFor = ticket.validFor?.duration
        guard remembers else {
            let result = try await sso.signIn(
                name,
                realm: realm,
                keytab: credential.keytab.map { .keytab($0) },
                unless: sufficient,
                validFor: validFor,
                options: ticket.options,
                cache: ticket.cache
            ) { principal in
                if let note { Console.note(note) }
                return try await credential.source(in: principal.realm, mayAsk: !isQuiet, sso)
            }
            return Outcome(session: result.session, origin: result.origin)
        }
        if let note { Console.note(note) }
        let whom = try await sso.principal(name, realm: realm)
        try await sso.checkRemembering(of: whom)
        let result = try await sso.signInRemembering(
            whom.description,
            realm: whom.realm,
            using: try await credential.source(in: whom.realm, mayAsk: !isQuiet, sso),
            options: await sso.signInOptions(ticket.options, in: whom.realm, validFor: validFor),
            cache: ticket.cache
        )
        return Outcome(session: result.session, origin: .signedIn, place: result.place)
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
        let isRead = await firstResult(within: Duration.seconds(1).patient, cancelsLateWork: false) {
            (try? await sso.readAccount(of: session)) != nil
        }
        guard isRead == true else { return session }
        return (try? await sso.sessions())?.sessions.first { $0.cache == session.cache } ?? session
    }

    /// Prints to standard error that the password expires soon.
    private func printNotice(_ session: Session, _ sso: SingleSignOn) {
        guard !isQuiet, let notice = session.passwordNotice(sso.passwordRules(for: session.realm)) else { return }
        Console.note("\(session.principal): \(notice)")
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
