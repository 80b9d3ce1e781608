import Foundation
public import Kerberos

extension TestRealm {
    /// Writes a keytab with the keys of one principal only, of a user too, and leaves the keys as they are.
    ///
    /// For a realm that somebody else runs it is a copy of the keytab that was given, with all that is in it.
    /// - Returns: The path of the file, which is in the realm's folder.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if there is no such principal, `invalidArgument` if it is not in
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

    /// The same as bytes in the format of MIT's keytab files, with no file left behind.
    ///
    /// - Throws: As ``keytab(for:)``.
    public func keytabContents(for principal: String) async throws -> [UInt8] {
        let path = try await keytab(for: principal)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    /// The same as a `MEMORY:` keytab of this process, for an acceptor of its own: `AcceptorCredential(keytab: keytab.name)`.
    ///
    /// - Returns: The keytab, which goes with the last reference to it.
    /// - Throws: As ``keytab(for:)``, or `KerberosError` if the keytab cannot be read.
    public func memoryKeytab(for principal: String) async throws -> MemoryKeytab {
        let path = try await keytab(for: principal)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try MemoryKeytab(copying: path)
    }

    /// Gives a service new random keys of the same kinds, with the next version number.
    ///
    /// A keytab is changed in place, and is never without the new keys or without those of other services, whoever reads or changes it
    /// meanwhile.
    /// - Parameters:
    ///   - service: The principal.
    ///   - keepingOld: Whether the keytab keeps the keys so far, so that tickets given out before are still accepted. Where the keytab is
    ///     left alone the database keeps them, as the keys of `krbtgt/EXAMPLE.TEST` should be.
    ///   - keytab: The keytab file that gets the new keys, the realm's if nil.
    ///   - updatesKeytab: False leaves the keytab as it is, as an administrator does who forgets it: new tickets are not accepted then.
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
