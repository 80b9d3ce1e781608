package import Kerberos

extension KerberosExtension {
    /// Signs in a principal by prompting (`Options/prompter`). Concurrent callers share one prompt.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - options: The options of the request; those of the first caller apply.
    /// - Throws: `KerberosError`; `notInteractive` if there is no prompter or another prompt is open for the principal; `canceled` if the
    ///   person cancels, or has canceled in the last five minutes.
    @discardableResult
    package func signInByAsking(
        _ name: String? = nil,
        realm: String? = nil,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        guard self.options.prompter != nil else {
            self.options.nobodyToAsk()
            throw .nobodyToAsk(name ?? realm ?? "")
        }
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        return try await ask(principal, options)
    }

    /// Signs in a principal with a certificate. Prompts for its PIN if it requires one and there is a prompter. Concurrent callers with the
    /// same certificate share one prompt.
    ///
    /// - Parameters:
    ///   - name: The principal's name, with or without a realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: The realm of a name without one; nil is ``defaultRealm()``.
    ///   - certificate: The certificate as libkrb5 names it; nil is the configured one.
    ///   - options: The options of the request; those of the first caller apply.
    /// - Throws: `KerberosError`; if the certificate requires a PIN, `notInteractive` if there is no prompter or another prompt is open for
    ///   the principal, `canceled` if the person cancels, or has canceled in the last five minutes.
    @discardableResult
    package func signInByAsking(
        _ name: String? = nil,
        realm: String? = nil,
        certificate: String?,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Session {
        guard let prompter = self.options.prompter else {
            return try await signIn(name, realm: realm, using: .certificate(certificate, GivenAnswer(nil)), options: options)
        }
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        return try await ask(Question(of: principal, .certificate(certificate, prompter)), prompter, options)
    }

    /// Cancels the open prompts. Their callers get `canceled`.
    package func cancelQuestions() { questionFlights.cancelAll() }

    /// Signs in by prompting for a request that needs a session.
    func sessionByAsking(_ name: Principal?, realm: String) async throws(KerberosError) -> Session {
        let principal = if let name { name } else { try await defaultPrincipal(realm: realm) }
        do throws(KerberosError) {
            return try await ask(principal, .init())
        } catch {
            throw name == nil && error.code == .unknownPrincipal ? .unknownUser(error) : error
        }
    }

    private func ask(_ principal: Principal, _ options: InitialCredentialOptions) async throws(KerberosError) -> Session {
        guard let prompter = self.options.prompter else { throw .nobodyToAsk(principal.description) }
        let source = try await interactiveSource(realm: principal.realm, prompter: prompter)
        return try await ask(Question(of: principal, source), prompter, options)
    }

    private func ask(
        _ question: Question,
        _ prompter: any Prompter,
        _ options: InitialCredentialOptions
    ) async throws(KerberosError) -> Session {
        try await questionFlights.run(question) { [self] () async throws(KerberosError) in
            let principal = question.principal
            let gated = LimitedPrompter(prompter, question, promptLimiter, clock: self.options.clock)
            defer { gated.end() }
            // A certificate may require no PIN; a password sign-in always prompts.
            if question.answer == .password { try gated.open() }
            do throws(KerberosError) {
                let session = try await signIn(principal.description, using: question.source(gated), options: options)
                if gated.refusal == nil { promptLimiter.forget(principal) }
                return session
            } catch {
                if let refusal = gated.refusal, error.code == .notInteractive { throw refusal }
                // After a person cancels, the next prompts are refused for a while, because programs retry automatically. A canceled
                // request is no refusal.
                if error.code == .canceled, !Task.isCancelled { promptLimiter.refuse(principal, at: self.options.clock()) }
                throw error
            }
        }
    }
}

extension KerberosError {
    fileprivate static func nobodyToAsk(_ subject: String) -> KerberosError {
        let message = "a password is required, and no prompt is available. Pass a password or a keytab, or sign in with: ksso login"
        return KerberosError(.notInteractive, subject: subject, message: message)
    }
}
