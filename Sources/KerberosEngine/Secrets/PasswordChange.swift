public import HTTPNegotiate
public import Kerberos

public import struct Foundation.Date

extension KerberosExtension {
    /// The rules for the passwords of a realm, out of the profiles.
    public func passwordRules(for realm: String) -> PasswordRules { policy.configurations.passwordRules(for: realm) }

    /// Changes a principal's password (RFC 3244), after the profile's own rules have been checked. The tickets that are there go on
    /// holding, and a password that is kept is replaced.
    ///
    /// - Parameters:
    ///   - name: whose, with or without its realm; nil is ``defaultPrincipal(realm:)``.
    ///   - realm: the realm for a name that has none; nil is ``defaultRealm()``.
    ///   - current: the current password. It is sent once.
    ///   - new: the new one.
    /// - Returns: Whose password was changed, and when the new one expires, if the KDC says so.
    /// - Throws: `KerberosError`; `passwordRefused` when the profile's rules or the KDC do not take the new one; `policyRefused` where the
    ///   profile does not let passwords be changed here.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        from current: Secret,
        to new: Secret
    ) async throws(KerberosError) -> PasswordChange {
        let principal = try await checkPasswordChange(of: name, realm: realm)
        try await check(new, for: principal, current: current)
        let client = clients.makeClient(for: principal.realm)
        try await client.changePassword(of: principal, from: current, to: new)
        return await noteChange(of: principal, to: new, client: client)
    }

    /// The same, asking for the current password, and twice for the new one; three times where it is not taken.
    @discardableResult
    public func changePassword(
        of name: String? = nil,
        realm: String? = nil,
        prompt: any Prompter
    ) async throws(KerberosError) -> PasswordChange {
        let principal = try await checkPasswordChange(of: name, realm: realm)
        let client = clients.makeClient(for: principal.realm)
        let new = try await changePassword(of: principal, asking: PasswordMemory(prompt), client: client)
        return await noteChange(of: principal, to: new, client: client)
    }

    /// Changes a password by questions; the memory then answers with the new one.
    @discardableResult
    func changePassword(of principal: Principal, asking memory: PasswordMemory, client: KerberosClient) async throws(KerberosError)
        -> Secret
    {
        let credential = try await client.passwordChangeCredential(for: principal, using: .prompter(memory))
        var banner = passwordRules(for: principal.realm).requirements
        var attemptsLeft = 3
        while true {
            attemptsLeft -= 1
            do throws(KerberosError) {
                let new = try await newPassword(for: principal, banner: banner, asking: memory, client: client)
                try await check(new, for: principal, current: memory.lastPassword)
                try await client.changePassword(with: credential, to: new)
                memory.take(new)
                return new
            } catch  where error.code == .passwordRefused && attemptsLeft > 0 {
                banner = error.message.capitalizedSentence
            }
        }
    }

    private func newPassword(
        for principal: Principal,
        banner: String?,
        asking memory: PasswordMemory,
        client: KerberosClient
    ) async throws(KerberosError) -> Secret {
        let request = PromptRequest(
            principal: principal,
            banner: banner,
            prompts: [.init(kind: .newPassword, text: "New password"), .init(kind: .newPasswordAgain, text: "New password again")]
        )
        let answers = try await client.answers(to: request, from: memory)
        guard answers[0] == answers[1] else { throw .passwordRefused(principal, "the two new passwords differ.") }
        return answers[0]
    }

    /// Says whose password would be changed, before anybody is asked for one.
    ///
    /// - Throws: `KerberosError`; `policyRefused` and `passwordRefused` where the profile does not let it be changed here, or not yet.
    package func checkPasswordChange(of name: String? = nil, realm: String? = nil) async throws(KerberosError) -> Principal {
        let principal = if let name { try await self.principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        let rules = passwordRules(for: principal.realm)
        if let url = rules.changeURL {
            throw KerberosError(
                .policyRefused,
                subject: principal.description,
                message: "passwords of \(principal.realm) are not changed here. Change it at: \(url)"
            )
        }
        guard rules.isChangeAllowed else {
            throw KerberosError(
                .policyRefused,
                subject: principal.description,
                message: "\(rules.sourceName) does not allow to change the password (allowPasswordChange). Ask your administrator."
            )
        }
        let changed = try await sessionStore.read().sessions(of: principal).compactMap(\.passwordChanged).max()
        if let earliest = rules.earliestChange(changed: changed), options.clock() < earliest {
            let sentence = "the password was changed a short time ago, and may be changed again from \(earliest.localText) on."
            throw .passwordRefused(principal, sentence)
        }
        return principal
    }

    /// Holds a new password to the profile's rules, before anybody else sees it.
    private func check(_ new: Secret, for principal: Principal, current: Secret?) async throws(KerberosError) {
        let rules = passwordRules(for: principal.realm)
        let account = principal.components.first ?? ""
        let displayName = rules.requiresComplexity && account == options.userName ? await options.displayName() : nil
        var sentences = unsafe new.withUnsafeBytes { unsafe rules.violations(of: $0, accountName: account, displayName: displayName) }
        if rules.history ?? 0 > 0, new == current { sentences.append("It must differ from the current one.") }
        if !sentences.isEmpty {
            throw .passwordRefused(principal, "the new password is not good enough. \(sentences.joined(separator: " "))")
        }
    }

    /// Leaves the marks of a change in the caches of the principal, where every program of this project finds them. When the new password
    /// expires the KDC says at a sign-in alone: one whose ticket is not kept, and only where there is one KDC. Another one might not know
    /// the new password yet, and count a wrong one.
    private func noteChange(of principal: Principal, to new: Secret, client: KerberosClient) async -> PasswordChange {
        await replaceStoredSecret(of: principal, with: new)
        // To the bit as the mark has it, which counts from another year than a date does.
        let changed = Date(timeIntervalSince1970: options.clock().timeIntervalSince1970)
        let sessions = (try? await sessionStore.read().sessions(of: principal)) ?? []
        let caches = sessions.map(\.cache)
        for cache in caches {
            try? await sessionStore.local.setMark(SessionMark.passwordExpires, to: "", in: cache)
            try? await sessionStore.local.setMark(SessionMark.passwordChanged, to: SessionMark.text(changed), in: cache)
        }
        var announced: Date?
        if let order = try? await client.kdcOrder(), order.named.count == 1, !order.asksDNS {
            announced = try? await client.initialCredential(for: principal, using: .password(new)).passwordExpires
        }
        // What a change does not move is the account's end, which a KDC may write in the same place.
        if sessions.contains(where: { $0.passwordExpires != nil && $0.passwordExpires == announced }) { announced = nil }
        if let announced {
            for cache in caches {
                try? await sessionStore.local.setMark(SessionMark.passwordExpires, to: SessionMark.text(announced), in: cache)
            }
        }
        let expires = passwordRules(for: principal.realm).expiry(announced: announced, changed: changed)
        return PasswordChange(principal: principal, changed: changed, expires: expires)
    }
}

extension KerberosError {
    fileprivate static func passwordRefused(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.passwordRefused, subject: principal.description, message: message)
    }
}

extension String {
    fileprivate var capitalizedSentence: String { prefix(1).uppercased() + dropFirst() }
}

/// A password that was changed.
public struct PasswordChange: Sendable, Hashable {
    /// Whose.
    public let principal: Principal
    /// When, by this machine's clock.
    public let changed: Date
    /// When the new one expires; nil where nobody says so, and where it never does.
    public let expires: Date?
}
