import Foundation

extension TestRealm {
    /// Adds a principal. One without a password gets random keys, which are added to the realm's keytab.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for an invalid description or an unknown policy, or
    ///   `commandFailed` if the database refuses it.
    public func add(_ principal: TestPrincipal) async throws {
        if let policy = principal.policy {
            do {
                _ = try await kadmin(["get_policy", policy])
            } catch let error as KerberosTestingError where error.message.contains("does not exist") {
                throw Self.unknownPolicy(policy, of: principal, cause: error)
            }
        }
        try await administer(addLines(principal))
    }

    /// Adds a password policy, for principals that are added or changed afterwards.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for invalid values, or `commandFailed` if the database refuses
    ///   it, such as because the name is in use.
    public func add(_ policy: PasswordPolicy) async throws {
        try await administer([addLine(policy)])
    }

    /// Locks a principal: the KDC issues no tickets to it or for it.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func lock(_ principal: String) async throws {
        try await administer(["modify_principal -allow_tix \(word(principal))"])
    }

    /// Unlocks a principal that was locked by ``lock(_:)`` or by too many wrong passwords.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func unlock(_ principal: String) async throws {
        try await administer(["modify_principal +allow_tix -unlock \(word(principal))"])
    }

    /// Sets the expiry of a password, by default in the past.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func expirePassword(of principal: String, _ expiry: TestPrincipal.Expiry = .past) async throws {
        try await administer(["modify_principal -pwexpire \(word(expiry.words)) \(word(principal))"])
    }

    /// Sets the expiry of an account, by default in the past.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func expire(_ principal: String, _ expiry: TestPrincipal.Expiry = .past) async throws {
        try await administer(["modify_principal -expire \(word(expiry.words)) \(word(principal))"])
    }

    /// Sets a password as an administrator. The principal's policy applies, except for its minimum lifetime.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the policy rejects it or there is no such principal.
    public func setPassword(of principal: String, to password: String) async throws {
        try await administer(["change_password -pw \(word(password)) \(word(principal))"])
    }

    /// Removes a principal. Its existing tickets stay valid until they expire.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func remove(_ principal: String) async throws {
        try await administer(["delete_principal -force \(word(principal))"])
    }

    /// Returns kadmin's command for a policy.
    func addLine(_ policy: PasswordPolicy) throws -> String {
        "add_policy \((try policy.options() + [word(policy.name)]).joined(separator: " "))"
    }

    /// Returns kadmin's commands for a principal.
    func addLines(_ principal: TestPrincipal) throws -> [String] {
        try principal.check()
        var options = principal.attributes.map(\.description)
        if let lifetime = principal.ticketLifetime { options += ["-maxlife", word("\(lifetime.components.seconds) seconds")] }
        if let lifetime = principal.renewableLifetime { options += ["-maxrenewlife", word("\(lifetime.components.seconds) seconds")] }
        if principal.expires != .never { options += ["-expire", word(principal.expires.words)] }
        if principal.passwordExpires != .never { options += ["-pwexpire", word(principal.passwordExpires.words)] }
        if !principal.encryptionTypes.isEmpty {
            options += ["-e", word(principal.encryptionTypes.map { "\($0):normal" }.joined(separator: ","))]
        }
        if let policy = principal.policy { options += ["-policy", word(policy)] }
        guard let password = principal.password else { return addServiceLines(principal.name, flags: options) }
        return [addUserLine(principal.name, password: password, flags: options)]
    }

    /// Returns the commands for the principals and policies in the options. Rejects unknown policies, which kadmin would silently accept.
    func addLines(_ options: TestRealmOptions) throws -> [String] {
        let policies = Set(options.policies.map(\.name))
        for principal in options.principals {
            if let policy = principal.policy, !policies.contains(policy) { throw Self.unknownPolicy(policy, of: principal) }
        }
        return try options.policies.map(addLine) + options.principals.flatMap(addLines)
    }

    private static func unknownPolicy(
        _ policy: String,
        of principal: TestPrincipal,
        cause: (any Error)? = nil
    ) -> KerberosTestingError {
        KerberosTestingError(.invalidArgument, "There is no password policy \(policy) for \(principal); add it first.", cause: cause)
    }
}

extension TestRealm {
    /// Adds a user.
    ///
    /// - Parameters:
    ///   - name: The principal, with or without the realm.
    ///   - password: The password, which kadmin reads from standard input, not from its arguments.
    ///   - flags: Options of `kadmin`'s `add_principal`, such as `+requires_preauth` or `-expire yesterday`.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the database refuses it, or `invalidArgument` for a line break.
    public func addUser(_ name: String, password: String, flags: [String] = []) async throws {
        try await administer([addUserLine(name, password: password, flags: flags)])
    }

    /// Adds a service with random keys, and adds these to the realm's keytab.
    ///
    /// - Parameter principal: The principal, such as `HTTP/localhost`.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the database refuses it.
    public func addService(_ principal: String) async throws {
        try await administer(addServiceLines(principal))
    }

    /// Returns the number of wrong passwords that the KDC has counted since the last right one.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func failedAttempts(of principal: String) async throws -> Int {
        let text = try await kadmin(["get_principal", principal])
        let label = "Failed password attempts: "
        let line = text.split(separator: "\n").first { $0.hasPrefix(label) }
        guard let count = line.flatMap({ Int($0.dropFirst(label.count)) }) else {
            throw KerberosTestingError(.commandFailed, "kadmin.local printed no number of failed attempts: \(text)")
        }
        return count
    }

    /// Runs one `kadmin.local` command, such as `["modify_principal", "-pwexpire", "yesterday", "alice"]`.
    ///
    /// - Returns: Its standard output.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and its standard error.
    public func kadmin(_ arguments: [String]) async throws -> String {
        _ = try center
        let result = try await Command.require(
            "kadmin.local",
            ["-r", name] + arguments,
            environment: environment,
            scratch: directory
        )
        return result.output
    }

    /// Runs several kadmin commands in one process. Because it always exits with status 0, any line on standard error counts as a failure.
    ///
    /// - Returns: Its standard output.
    @discardableResult
    func administer(_ lines: [String]) async throws -> String {
        _ = try center
        // kadmin reads lines as from a terminal, where a control character edits the line or completes a word.
        if let line = lines.first(where: { $0.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } }) {
            let command = line.prefix { $0 != " " }
            throw KerberosTestingError(
                .invalidArgument,
                "A name or password of \(command) contains a control character, such as a tab or a line break, which kadmin cannot read."
            )
        }
        let result = try await Command.require(
            "kadmin.local",
            ["-r", name],
            environment: environment,
            input: lines.map { $0 + "\n" }.joined(),
            scratch: directory
        )
        let errors = result.errors.split(separator: "\n").filter { !$0.localizedCaseInsensitiveContains("no policy") }
        guard errors.isEmpty else {
            throw KerberosTestingError(.commandFailed, "kadmin.local refused: \(errors.joined(separator: "; "))")
        }
        return result.output
    }

    func addUserLine(_ name: String, password: String, flags: [String]) -> String {
        let preauthentication = files.options.requiresPreauthentication ? "+requires_preauth" : "-requires_preauth"
        let options = ([preauthentication] + flags).joined(separator: " ")
        return "add_principal \(options) -pw \(word(password)) \(word(name))"
    }

    func addServiceLines(_ principal: String, flags: [String] = []) -> [String] {
        [
            "add_principal \((["-requires_preauth"] + flags).joined(separator: " ")) -randkey \(word(principal))",
            "ktadd -norandkey -k \(word("FILE:\(keytabPath)")) \(word(principal))",
        ]
    }

    /// Quotes a word for kadmin, in whose syntax a doubled quotation mark stands for one.
    func word(_ text: String) -> String {
        "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
