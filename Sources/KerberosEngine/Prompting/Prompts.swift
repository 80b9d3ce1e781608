internal import Kerberos
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Date

/// The open prompts, and the limits for others. An extension that replaces another one uses those of its predecessor, whose prompts stay
/// open.
final class OpenPrompts: Sendable {
    /// Decides whether a prompt may open.
    let limiter = PromptLimiter()
    /// The sign-ins that may prompt, by their question.
    let flights = SingleFlight<Question, Session>(endsWithItsWaiters: true)
}

/// Asks a person on behalf of sign-ins: callers with one question share one prompt, and the limiter decides whether it may open.
final class Prompts: Sendable {
    /// Asks for passwords and PINs; nil asks no one.
    let prompter: (any Prompter)?
    /// Called when a request needs a sign-in and there is no prompter.
    let promptUnavailable: @Sendable () -> Void
    private let clock: @Sendable () -> Date
    private let shared = Mutex(OpenPrompts())

    init(_ options: KerberosExtension.Options) {
        prompter = options.prompter
        promptUnavailable = options.promptUnavailable
        clock = options.clock
    }

    /// The open prompts.
    var open: OpenPrompts { shared.withLock { $0 } }

    /// Uses the open prompts of others, so that a person who has a prompt of theirs, or canceled one, gets no other one here.
    func share(with others: Prompts) {
        let open = others.open
        shared.withLock { $0 = open }
    }

    /// Cancels the open prompts, including those of the extensions that share them. Their callers get `canceled`.
    func cancelAll() { open.flights.cancelAll() }

    /// Performs a sign-in that may prompt for the answer to a question, or joins the one that runs.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - prompter: Prompts.
    ///   - isWanted: Whether a person has just asked for the prompt, so that an earlier cancellation does not count.
    ///   - signIn: Signs in with the source that it gets.
    func ask(
        _ question: Question,
        _ prompter: any Prompter,
        isWanted: Bool = false,
        _ signIn: @escaping @Sendable (InitialCredentialSource) async throws(KerberosError) -> Session
    ) async throws(KerberosError) -> Session {
        let open = self.open
        let limiter = open.limiter
        return try await open.flights.run(question) { [self] () async throws(KerberosError) in
            let limited = LimitedPrompter(prompter, question, limiter, isWanted: isWanted, clock: clock)
            defer { limited.end() }
            // A certificate may require no PIN; a password sign-in always prompts.
            if question.alwaysPrompts { try limited.open() }
            do throws(KerberosError) {
                let session = try await signIn(question.source(limited))
                if limited.refusal == nil { limiter.forget(question.principal) }
                return session
            } catch {
                if let refusal = limited.refusal, error.code == .notInteractive { throw refusal }
                // After a person cancels, the next prompts are refused for a while, because programs retry automatically. A canceled
                // request is no refusal.
                if error.code == .canceled, !Task.isCancelled { limiter.refuse(question.principal, at: clock()) }
                throw error
            }
        }
    }
}

extension SignIns {
    /// Signs in a principal by prompting.
    func signInByAsking(_ name: String?, realm: String?, options: InitialCredentialOptions) async throws(KerberosError) -> Session {
        guard prompts.prompter != nil else {
            prompts.promptUnavailable()
            throw .promptUnavailable(name ?? realm ?? "")
        }
        return try await ask(try await names.principal(orDefault: name, realm: realm), options)
    }

    /// Signs in a principal with a source. If there is a prompter, it replaces the source's own.
    func signInByAsking(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions
    ) async throws(KerberosError) -> Session {
        guard let prompter = prompts.prompter else { return try await signIn(name, realm: realm, using: source, options: options).session }
        let principal = try await names.principal(orDefault: name, realm: realm)
        return try await ask(principal, source, prompter, options)
    }

    /// Signs in by prompting for a request that needs a session.
    func sessionByAsking(_ name: Principal?, realm: String) async throws(KerberosError) -> Session {
        let principal = if let name { name } else { try await names.defaultPrincipal(realm: realm) }
        do throws(KerberosError) {
            return try await ask(principal, .init())
        } catch {
            throw name == nil && error.code == .unknownPrincipal ? .unknownUser(error) : error
        }
    }

    /// Signs in with the realm's smart card by prompting.
    func signInWithCard(realm: String) async throws(KerberosError) -> Session {
        guard let identity = try await exchange.permissions.certificate(of: realm), InitialCredentialSource.isCard(identity) else {
            let message = "no smart card is configured. Set CertificateIdentity in the profile or pkinit_identities in krb5.conf to PKCS11:"
            throw KerberosError(.certificateRefused, subject: realm, message: message)
        }
        let principal = try await names.defaultPrincipal(realm: realm)
        guard let prompter = prompts.prompter else {
            prompts.promptUnavailable()
            throw .promptUnavailable(principal.description)
        }
        let source = InitialCredentialSource.certificate(nil, prompter)
        _ = try await exchange.permissions.permitted(source, realm: realm)
        let question = Question(of: principal, source, under: exchange.permissions.policy)
        let hasBegun = Atomic(false)
        while true {
            do throws(KerberosError) {
                return try await prompts.ask(question, prompter, isWanted: true) { [self] (source) async throws(KerberosError) in
                    hasBegun.store(true, ordering: .releasing)
                    return try await signIn(principal, using: source, options: .init()).session
                }
            } catch {
                if Task.isCancelled { await prompts.open.flights.end(where: { $0 == question }, with: error) }
                // This call joined a program's sign-in that had begun without the card.
                guard !Task.isCancelled, !hasBegun.load(ordering: .acquiring) else { throw error }
            }
        }
    }

    private func ask(_ principal: Principal, _ options: InitialCredentialOptions) async throws(KerberosError) -> Session {
        guard let prompter = prompts.prompter else { throw .promptUnavailable(principal.description) }
        let source = try await exchange.permissions.interactiveSource(realm: principal.realm, prompter: prompter)
        return try await ask(principal, source, prompter, options)
    }

    private func ask(
        _ principal: Principal,
        _ source: InitialCredentialSource,
        _ prompter: any Prompter,
        _ options: InitialCredentialOptions
    ) async throws(KerberosError) -> Session {
        // The profile forbids a sign-in whether or not a prompt is open.
        _ = try await exchange.permissions.permitted(source, realm: principal.realm)
        let question = Question(of: principal, source, under: exchange.permissions.policy)
        return try await prompts.ask(question, prompter) { [self] (source) async throws(KerberosError) in
            try await signIn(question.principal, using: source, options: options).session
        }
    }
}

extension KerberosError {
    fileprivate static func promptUnavailable(_ subject: String) -> KerberosError {
        let message = "a password or PIN is required, and no prompt is available. Pass a password or a keytab, or sign in with: ksso login"
        return KerberosError(.notInteractive, subject: subject, message: message)
    }
}
