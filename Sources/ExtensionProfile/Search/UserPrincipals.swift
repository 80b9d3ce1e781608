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
    static func names(in text: String, source: String) throws(ProfileError) -> [String: String] {
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

    static func lines(of text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    static func isEntry(_ line: String) -> Bool { !line.isEmpty && !line.hasPrefix("#") }

    /// The realm of a principal; nil if the line is not a principal with a realm.
    static func realm(of line: String) -> String? {
        guard let sign = line.lastIndex(of: "@"), !line[..<sign].hasSuffix("\\") else { return nil }
        let realm = String(line[line.index(after: sign)...])
        return ValueCheck.isPrincipal(line) && ValueCheck.realmFault(realm) == nil ? realm : nil
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
