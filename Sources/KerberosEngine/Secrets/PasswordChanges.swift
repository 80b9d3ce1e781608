public import Kerberos
internal import SignOnPolicy
internal import SystemSupport

public import struct Foundation.Date

/// Changes passwords (RFC 3244), within the rules of the profiles.
final class PasswordChanges: Sendable {
    private let options: KerberosExtension.Options
    private let policy: DecisionPolicy
    private let names: PrincipalNames
    private let clients: RealmClients
    private let store: SessionStore
    /// Reads the accounts in the directories of domains, which explain why a domain refuses a password.
    let accounts: AccountReadings
    /// The passwords for automatic sign-in; nil stores none.
    private let secrets: StoredSecrets?

    init(_ options: KerberosExtension.Options, names: PrincipalNames, clients: RealmClients, store: SessionStore, secrets: StoredSecrets?) {
        self.options = options
        policy = names.policy
        self.names = names
        self.clients = clients
        self.store = store
        accounts = AccountReadings(options, clients: clients, store: store)
        self.secrets = secrets
    }

    /// The password rules of a realm, from the profiles.
    func rules(for realm: String) -> PasswordRules { policy.configurations.passwordRules(for: realm) }

    /// Changes a principal's password after checking the new one. The current password is sent once.
    func change(of name: String?, realm: String?, from current: Secret, to new: Secret) async throws(KerberosError) -> PasswordChange {
        let principal = try await check(of: name, realm: realm)
        try await check(new, for: principal, current: current)
        let client = clients.makeClient(for: principal.realm)
        try await checkServer(for: principal, client)
        let credential = try await client.passwordChangeCredential(for: principal, using: .password(current))
        try await send(new, with: credential, client)
        return await noteChange(of: credential.client, to: new, client: client)
    }

    /// Changes a principal's password, and prompts for the current one and the new one.
    func change(of name: String?, realm: String?, prompt: any Prompter) async throws(KerberosError) -> PasswordChange {
        let principal = try await check(of: name, realm: realm)
        let client = clients.makeClient(for: principal.realm)
        let (new, account) = try await change(of: principal, asking: PasswordMemory(prompt), client: client)
        return await noteChange(of: account, to: new, client: client)
    }

    /// Changes a password that has expired, during a sign-in. Afterwards `memory` answers with the new password.
    func changeExpired(
        of principal: Principal,
        asking memory: PasswordMemory,
        client: KerberosClient
    ) async throws(KerberosError) -> Secret {
        memory.announce("The password of \(principal.displayName) has expired and must be changed.")
        let (new, account) = try await change(of: principal, asking: memory, client: client, isExpired: true)
        await secrets?.replace(of: account, with: new)
        return new
    }

    /// Changes a password by prompting for it. Afterwards `memory` answers with the new password.
    ///
    /// - Returns: The new password, and the canonical name of the account, under which passwords are stored.
    private func change(
        of principal: Principal,
        asking memory: PasswordMemory,
        client: KerberosClient,
        isExpired: Bool = false
    ) async throws(KerberosError) -> (password: Secret, account: Principal) {
        try await checkServer(for: principal, client, isExpired: isExpired)
        let current = InitialCredentialSource.prompter(CurrentPasswordPrompter(memory))
        let credential = try await client.passwordChangeCredential(for: principal, using: current)
        var banner = rules(for: principal.realm).requirements
        var attemptsLeft = 3
        while true {
            attemptsLeft -= 1
            do throws(KerberosError) {
                let new = try await newPassword(for: principal, banner: banner, asking: memory, client: client)
                try await check(new, for: principal, current: memory.lastPassword)
                try await send(new, with: credential, client)
                memory.take(new)
                return (new, credential.client)
            } catch  where error.code == .passwordRefused && attemptsLeft > 0 {
                banner = error.message.capitalizedSentence
            }
        }
    }

    /// Sends the new password. A refusal says which rules apply.
    private func send(_ new: Secret, with credential: Credential, _ client: KerberosClient) async throws(KerberosError) {
        do throws(KerberosError) {
            try await client.changePassword(with: credential, to: new)
        } catch  where error.code == .passwordRefused {
            throw await accounts.explaining(error, of: credential.client, to: new)
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

    /// Returns the principal whose password would be changed, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile does not allow password changes here, `passwordRefused` if it does not
    ///   allow one yet.
    func check(of name: String?, realm: String?) async throws(KerberosError) -> Principal {
        let principal = try await names.principal(orDefault: name, realm: realm)
        let rules = rules(for: principal.realm)
        if let url = rules.changeURL {
            throw KerberosError(
                .policyRefused,
                subject: principal.displayName,
                message: "passwords of \(principal.realm) cannot be changed here. Change the password at: \(url)"
            )
        }
        guard rules.isChangeAllowed else {
            throw KerberosError(
                .policyRefused,
                subject: principal.displayName,
                message: "\(rules.sourceName) does not allow password changes (allowPasswordChange). Ask your administrator."
            )
        }
        let changed = try await store.read().sessions(of: principal).compactMap(\.passwordChanged).max()
        if let earliest = rules.earliestChange(changed: changed), options.clock() < earliest {
            let sentence = "the password was changed recently. It can be changed again after \(earliest.localTextWithTimeLeft)."
            throw .passwordRefused(principal, sentence)
        }
        return principal
    }

    /// Checks that a password server is known, before a prompt whose answer could not be used.
    private func checkServer(
        for principal: Principal,
        _ client: KerberosClient,
        isExpired: Bool = false
    ) async throws(KerberosError) {
        guard try await !client.knowsPasswordServer() else { return }
        let sentence =
            (isExpired ? "the password has expired. " : "")
            + "\(isExpired ? "No" : "no") password server of \(principal.realm) is known: neither krb5.conf nor DNS names one, so the password cannot be changed. "
            + "Add kpasswd_server or admin_server to the realm in krb5.conf, or ask your administrator."
        throw KerberosError(isExpired ? .passwordExpired : .realmUnknown, subject: principal.displayName, message: sentence)
    }

    /// Checks a new password against the profile's rules before it is sent.
    private func check(_ new: Secret, for principal: Principal, current: Secret?) async throws(KerberosError) {
        let rules = rules(for: principal.realm)
        let account = principal.components.first ?? ""
        let displayName = rules.requiresComplexity && account == options.userName ? await options.displayName() : nil
        var sentences = unsafe new.withUnsafeBytes { unsafe rules.violations(of: $0, accountName: account, displayName: displayName) }
        if rules.history ?? 0 > 0, new == current { sentences.append("It must differ from the current one.") }
        if !sentences.isEmpty {
            throw .passwordRefused(principal, "the new password does not meet the requirements. \(sentences.joined(separator: " "))")
        }
    }

    /// Writes the marks of a password change to the principal's caches, where every program of this project finds them. A KDC reports the
    /// new password's expiration only in an initial authentication, so this requests a ticket and discards it. It does so only if the realm
    /// has a single KDC: another KDC might not have the new password yet, and would count a failed attempt.
    private func noteChange(of principal: Principal, to new: Secret, client: KerberosClient) async -> PasswordChange {
        await secrets?.replace(of: principal, with: new)
        // Equals the mark's value bit by bit: `Date` counts from another reference date than the mark.
        let changed = Date(timeIntervalSince1970: options.clock().timeIntervalSince1970)
        let sessions = (try? await store.read().sessions(of: principal)) ?? []
        let caches = sessions.map(\.cache)
        for cache in caches {
            try? await store.local.setMark(SessionMark.passwordExpires, to: "", in: cache)
            try? await store.local.setMark(SessionMark.passwordChanged, to: SessionMark.text(changed), in: cache)
        }
        var announced: Date?
        if let order = try? await client.kdcOrder(), order.named.count == 1, !order.asksDNS {
            announced = try? await client.initialCredential(for: principal, using: .password(new)).passwordExpires
        }
        // A value that the change did not move is the account's expiration, which a KDC may report in the same field.
        let former = sessions.compactMap { SessionMark.date(SessionMark.passwordExpires, in: $0.listing.marks) }
        if let value = announced, former.contains(value) { announced = nil }
        if let announced {
            for cache in caches {
                try? await store.local.setMark(SessionMark.passwordExpires, to: SessionMark.text(announced), in: cache)
            }
        }
        let expires = rules(for: principal.realm).expiry(announced: announced, changed: changed)
        return PasswordChange(principal: principal, changed: changed, expires: expires)
    }
}

extension KerberosError {
    fileprivate static func passwordRefused(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.passwordRefused, subject: principal.displayName, message: message)
    }
}

extension String {
    fileprivate var capitalizedSentence: String { prefix(1).uppercased() + dropFirst() }
}

/// The result of a password change.
public struct PasswordChange: Sendable, Hashable {
    /// The principal whose password was changed.
    public let principal: Principal
    /// When the password was changed, by this machine's clock.
    public let changed: Date
    /// When the new password expires; nil if that is unknown, or if it never expires.
    public let expires: Date?
}
