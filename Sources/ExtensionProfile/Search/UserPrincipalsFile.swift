internal import Foundation

/// The file of the user's principals, to be changed; ``UserPrincipals`` describes it.
///
/// A file that the search would ignore, because of its owner, its mode or an invalid line, is not changed.
package struct UserPrincipalsFile: Sendable {
    /// The user's directory.
    package let directory: String
    private let trust: ProfileFile.Trust

    /// The first line of a file that ``record(_:)`` creates.
    private static let comment = "# Written by ksso: the principal that signs in to a realm if none is named."

    /// What ``remove(_:)`` found.
    package enum Removal: Sendable, Hashable {
        /// None of the principals.
        case nothing
        /// Some of them, which are removed from the file. It has other entries or comments.
        case entries
        /// Nothing else. The file is unchanged; remove it.
        case wholeFile
    }

    /// The file of a search; nil if the search has no user's directory.
    package init?(of search: ProfileSearch) {
        guard let directory = search.userDirectory else { return nil }
        self.directory = directory
        trust = search.userTrust
    }

    /// The path of the file.
    package var path: String { "\(directory)/\(UserPrincipals.fileName)" }

    /// Whether the file exists.
    package var exists: Bool { ProfileFile.exists(path) }

    /// Writes a principal, in place of another one of its realm. Only the user can read the file.
    ///
    /// - Throws: ``ProfileError`` if the principal has no realm, or if the present file cannot be used or written.
    package func record(_ principal: String) throws(ProfileError) {
        guard let realm = UserPrincipals.realm(of: principal) else {
            throw ProfileError(.badValue, source: path, reason: "\(principal.debugDescription) is not a principal with its realm.")
        }
        var lines = try lines() ?? [Self.comment]
        lines.removeAll { UserPrincipals.isEntry($0) && UserPrincipals.realm(of: $0) == realm }
        try write(lines + [principal])
    }

    /// Removes principals.
    ///
    /// - Throws: ``ProfileError`` if the present file cannot be used or written.
    package func remove(_ principals: Set<String>) throws(ProfileError) -> Removal {
        guard let lines = try lines(), lines.contains(where: principals.contains) else { return .nothing }
        let rest = lines.filter { !principals.contains($0) }
        guard rest.contains(where: { $0 != Self.comment }) else { return .wholeFile }
        try write(rest)
        return .entries
    }

    /// The lines of the present file, without the empty ones; nil if there is none.
    private func lines() throws(ProfileError) -> [String]? {
        guard let folder = try ProfileFile.directory(path: directory, trust: trust) else { return nil }
        guard try folder.names().contains(UserPrincipals.fileName) else { return nil }
        let text = String(decoding: try folder.read(name: UserPrincipals.fileName, trust: trust), as: UTF8.self)
        _ = try UserPrincipals.names(in: text, source: path)
        return UserPrincipals.lines(of: text).filter { !$0.isEmpty }
    }

    /// Replaces the file, or the one that it is a symbolic link to.
    private func write(_ lines: [String]) throws(ProfileError) {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let data = Data((lines + [""]).joined(separator: "\n").utf8)
        try ProfileFile.replace(path: target.path, in: target.deletingLastPathComponent().path, with: data)
    }
}
