internal import Foundation
internal import SignOnPolicy

/// The user's principals, at most one per realm: the one that signs in to a realm if neither the caller nor the profile names one.
///
/// They are in the file `principals` of the user's directory, with one `name@REALM` per line. Empty lines, and lines that begin with `#`,
/// are ignored.
package struct UserPrincipals: Sendable {
    /// The name of the file in the user's directory. It is not a profile's name.
    static let fileName = "principals"

    /// The principals by their realm.
    private(set) var names: [String: String] = [:]
    /// Why the file was ignored; nil if it is used or missing.
    private(set) var fault: ProfileError?

    /// No principals.
    init() {}

    /// Reads the file of a directory. A missing file contains no principals.
    ///
    /// - Parameters:
    ///   - directory: The user's directory.
    ///   - trust: The required owner and mode of the directory and of the file.
    init(in directory: String, trust: ProfileFile.Trust) {
        do throws(ProfileError) {
            guard let folder = try ProfileFile.directory(path: directory, trust: trust) else { return }
            guard try folder.names().contains(Self.fileName) else { return }
            let data = try folder.read(name: Self.fileName, trust: trust)
            names = try Self.names(in: String(decoding: data, as: UTF8.self), source: "\(directory)/\(Self.fileName)")
        } catch {
            // The search itself reports a directory that cannot be used.
            fault = error.source == directory ? nil : error
        }
    }

    /// Parses the file's text. The first principal of a realm counts.
    private static func names(in text: String, source: String) throws(ProfileError) -> [String: String] {
        var names: [String: String] = [:]
        for (offset, line) in lines(of: text).enumerated() where isEntry(line) {
            guard let realm = realm(of: line) else {
                throw ProfileError(
                    .malformed,
                    source: source,
                    reason: "Line \(offset + 1) is not a principal with its realm, such as alice@CORP.EXAMPLE, so the file is ignored. "
                        + "Correct or remove the line."
                )
            }
            if names[realm] == nil { names[realm] = line }
        }
        return names
    }

    private static func lines(of text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    private static func isEntry(_ line: String) -> Bool { !line.isEmpty && !line.hasPrefix("#") }

    /// The realm of a principal; nil if the line is not a principal with a realm.
    private static func realm(of line: String) -> String? {
        guard let sign = line.lastIndex(of: "@"), !line[..<sign].hasSuffix("\\") else { return nil }
        let realm = String(line[line.index(after: sign)...])
        return ValueCheck.isPrincipal(line) && ValueCheck.realmFault(realm) == nil ? realm : nil
    }
}

extension UserPrincipals {
    /// Writes a principal to the file of a directory, in place of another one of its realm. Only the user can read the file.
    ///
    /// - Returns: The path of the file.
    /// - Throws: ``ProfileError``.
    @discardableResult
    package static func record(_ principal: String, in directory: String) throws(ProfileError) -> String {
        let path = "\(directory)/\(fileName)"
        guard let realm = realm(of: principal) else {
            throw ProfileError(.badValue, source: path, reason: "\(principal.debugDescription) is not a principal with its realm.")
        }
        let present = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
        var lines = lines(of: present ?? "# Written by ksso: the principal that signs in to a realm if none is named.")
        lines.removeAll { $0.isEmpty || isEntry($0) && self.realm(of: $0) == realm }
        try ProfileFile.replace(path: path, in: directory, with: Data((lines + [principal, ""]).joined(separator: "\n").utf8))
        return path
    }

    /// Removes the file of a directory.
    ///
    /// - Returns: The path of the file; nil if there was none.
    /// - Throws: ``ProfileError``.
    package static func remove(from directory: String) throws(ProfileError) -> String? {
        let path = "\(directory)/\(fileName)"
        guard ProfileFile.exists(path) else { return nil }
        do {
            try FileManager.default.removeItem(atPath: path)
            return path
        } catch {
            throw ProfileError(.unreadable, source: path, reason: "The file cannot be removed: \(error.localizedDescription)")
        }
    }
}

extension Profile {
    /// The profile with the user's principals for its realms.
    func completed(by principals: UserPrincipals) -> Profile {
        var copy = self
        copy.userPrincipals = principals.names.filter { entry in payloads.contains { $0.realm == entry.key } }
        return copy
    }

    /// Whether the profile itself, without the user's principals, names the principal of a realm.
    package func namesPrincipal(of realm: String) -> Bool {
        payloads.contains { $0.realm == realm && $0.configuration(source: source).principalName != nil }
    }
}
