import Foundation
public import Kerberos

extension TestRealm {
    /// Writes a keytab with the keys of one principal, which may be a user. The keys do not change.
    ///
    /// If the kit does not run the realm, it is a copy of the whole keytab that was given.
    /// - Returns: The path of the file, which is in the realm's folder.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal, or `invalidArgument` if it is not in
    ///   the keytab that was given.
    public func keytab(for principal: String) async throws -> String {
        let path = "\(directory)/\(UUID().uuidString).keytab"
        guard ownCenter != nil else {
            try await requireKeys(of: principal)
            try FileManager.default.copyItem(atPath: keytabPath, toPath: path)
            return path
        }
        try await administer(["ktadd -norandkey -k \(word("FILE:\(path)")) \(word(principal))"])
        return path
    }

    /// Returns the contents of ``keytab(for:)`` in the format of MIT's keytab files, without leaving a file behind.
    ///
    /// - Throws: The errors of ``keytab(for:)``.
    public func keytabContents(for principal: String) async throws -> [UInt8] {
        let path = try await keytab(for: principal)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    /// Creates a `MEMORY:` keytab from ``keytab(for:)`` for an acceptor in this process: `AcceptorCredential(keytab: keytab.name)`.
    ///
    /// - Returns: The keytab, which is destroyed with the last reference to it.
    /// - Throws: The errors of ``keytab(for:)``, or `KerberosError` if the keytab cannot be read.
    public func memoryKeytab(for principal: String) async throws -> MemoryKeytab {
        let path = try await keytab(for: principal)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try MemoryKeytab(copying: path)
    }

    /// Gives a service new random keys of the same encryption types, with the next version number.
    ///
    /// The keytab is changed in place. Programs that read or change it meanwhile always find the new keys and those of other services.
    /// - Parameters:
    ///   - service: The principal.
    ///   - keepingOld: Whether the keytab keeps the old keys, so that existing tickets are still accepted. If the keytab is not updated,
    ///     the database keeps them instead, as is needed for `krbtgt/EXAMPLE.TEST`.
    ///   - keytab: The keytab file to update; nil for the realm's keytab.
    ///   - updatesKeytab: Whether the keytab is updated. If false, as when an administrator forgets it, new tickets are not accepted.
    /// - Returns: The new version number (kvno).
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal.
    @discardableResult
    public func rotateKeys(
        of service: String,
        keepingOld: Bool = true,
        in keytab: String? = nil,
        updatesKeytab: Bool = true
    ) async throws -> Int {
        let text = try await kadmin(["get_principal", service])
        let keys = text.matches(of: /Key: vno ([0-9]+), ([^\s:,]+)/).compactMap { match in Int(match.1).map { ($0, match.2) } }
        guard let version = keys.map(\.0).max() else {
            throw KerberosTestingError(.commandFailed, "\(service) has no keys: \(text)")
        }
        let kinds = "-e " + word(keys.filter { $0.0 == version }.map { "\($0.1):normal" }.joined(separator: ","))
        guard updatesKeytab else {
            try await administer(["change_password -randkey \(keepingOld ? "-keepold " : "")\(kinds) \(word(service))"])
            return version + 1
        }
        let file = "-k " + word("FILE:\(keytab ?? keytabPath)")
        let removal = keepingOld ? [] : ["ktremove \(file) \(word(service)) old"]
        try await administer(["ktadd \(file) \(kinds) \(word(service))"] + removal)
        return version + 1
    }
}
