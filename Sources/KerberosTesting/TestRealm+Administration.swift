import Foundation

extension TestRealm {
    /// Adds a user.
    ///
    /// - Parameters:
    ///   - name: The principal, without the realm or with it.
    ///   - password: The password; it reaches kadmin by standard input, not by its arguments.
    ///   - flags: Options as `kadmin`'s `add_principal` writes them: `+requires_preauth`, `-expire yesterday`.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the database refuses, `invalidArgument` for a line break.
    public func addUser(_ name: String, password: String, flags: [String] = []) async throws {
        try await administer([addUserLine(name, password: password, flags: flags)])
    }

    /// Adds a service with random keys, and puts these into the realm's keytab.
    ///
    /// - Parameter principal: Such as `HTTP/localhost`.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the database refuses.
    public func addService(_ principal: String) async throws {
        try await administer(addServiceLines(principal))
    }

    /// How many wrong passwords the KDC has counted since the last right one.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    public func failedAttempts(of principal: String) async throws -> Int {
        let text = try await kadmin(["get_principal", principal])
        let label = "Failed password attempts: "
        let line = text.split(separator: "\n").first { $0.hasPrefix(label) }
        guard let count = line.flatMap({ Int($0.dropFirst(label.count)) }) else {
            throw KerberosTestingError(.commandFailed, "kadmin.local gave no number of failed attempts: \(text)")
        }
        return count
    }

    /// Runs one `kadmin.local` command, such as `["modify_principal", "-pwexpire", "yesterday", "alice"]`.
    ///
    /// - Returns: What it wrote to standard output.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` and what it wrote to standard error.
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

    /// Runs lines of kadmin's own language in one process. It exits with 0 whatever happens, so that its errors are what counts.
    ///
    /// - Returns: What it wrote to standard output.
    @discardableResult
    func administer(_ lines: [String]) async throws -> String {
        _ = try center
        if let line = lines.first(where: { $0.contains { $0.isNewline } }) {
            throw KerberosTestingError(
                .invalidArgument,
                "kadmin reads line by line; there is a line break in the command \(line.prefix(20))…"
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

    /// A word in kadmin's quoting, where a doubled quotation mark stands for itself.
    func word(_ text: String) -> String {
        "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
