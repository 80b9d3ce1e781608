package import Kerberos

extension KerberosExtension {
    /// Signs a principal in by asking whoever sits at the machine (`Options/prompter`): once, however many programs wait for it.
    ///
    /// - Parameters:
    ///   - name: the principal, with or without its realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: the realm for a name that has none; nil is ``defaultRealm()``.
    ///   - options: what to ask of the KDC; those of the first that asks count.
    /// - Throws: `KerberosError`; `notInteractive` where there is no prompter, or another question is open for the principal; `canceled`
    ///   when the person gives up, or has a while ago.
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

    /// Signs a principal in with a certificate, whose PIN is asked for where it wants one and somebody can be asked: once, however many
    /// programs wait for the same certificate's. One that wants none asks nobody.
    ///
    /// - Parameters:
    ///   - name: the principal, with or without its realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: the realm for a name that has none; nil is ``defaultRealm()``.
    ///   - certificate: as libkrb5 names it; nil is the configured one.
    ///   - options: what to ask of the KDC; those of the first that asks count.
    /// - Throws: `KerberosError`; where it wants a PIN, `notInteractive` when nobody can be asked or another question is open for the
    ///   principal, `canceled` when the person gives up, or has a while ago.
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

    /// Ends the questions that are open; whoever waits for them gets `canceled`.
    package func cancelQuestions() { questionFlights.cancelAll() }

    /// The same for a request that needs a session.
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
            let gated = GatedPrompter(prompter, question, questionGate, clock: self.options.clock)
            defer { gated.end() }
            // A certificate may want no PIN; a password is always asked for.
            if question.answer == .password { try gated.open() }
            do throws(KerberosError) {
                let session = try await signIn(principal.description, using: question.source(gated), options: options)
                if gated.refusal == nil { questionGate.forget(principal) }
                return session
            } catch {
                if let refusal = gated.refusal, error.code == .notInteractive { throw refusal }
                // Who gave up is not asked again at once: programs try again by themselves. Where the request itself was called off nobody
                // has refused anything.
                if error.code == .canceled, !Task.isCancelled { questionGate.refuse(principal, at: self.options.clock()) }
                throw error
            }
        }
    }
}

extension KerberosError {
    fileprivate static func nobodyToAsk(_ subject: String) -> KerberosError {
        let message = "a password is needed, and there is nobody to ask. Give it, or a keytab; or sign in with: ksso login"
        return KerberosError(.notInteractive, subject: subject, message: message)
    }
}
