internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos

/// The principals that `ksso` has stored for later sign-ins, so that `ksso setup --undo` removes these and no others.
struct StoredPrincipals {
    let file: UserPrincipalsFile

    /// The search for profiles ignores a file with this name.
    private var recordPath: String { "\(file.directory)/.principals.json" }

    /// The principals that were stored.
    private var names: [String] {
        guard let data = FileManager.default.contents(atPath: recordPath) else { return [] }
        return (try? JSONDecoder().decode([String].self, from: data)) ?? []
    }

    /// Stores a principal.
    func store(_ principal: Principal) throws {
        try file.record(principal.description)
        // The file has at most one principal per realm.
        let others = names.filter { !$0.hasSuffix("@\(principal.realm)") }
        try JSONEncoder().encode(others + [principal.description]).write(to: URL(fileURLWithPath: recordPath), options: .atomic)
    }

    /// Removes the stored principals, and prints what is removed and what is kept.
    ///
    /// - Returns: Whether a principal was removed.
    func remove() throws(CommandFailure) -> Bool {
        guard file.exists else { return try forget(false) }
        let removal: UserPrincipalsFile.Removal
        do throws(ProfileError) {
            removal = try file.remove(Set(names))
        } catch {
            throw CommandFailure(error, verbose: false)
        }
        switch removal {
        case .nothing:
            Console.note("\(file.path): kept, because ksso setup did not write it")
            return try forget(false)
        case .entries:
            Console.print("\(file.path): removed \(names.joined(separator: ", ")); the other lines are kept")
        case .wholeFile:
            try AtomicFile.remove(file.path)
            Console.print("\(file.path): removed")
        }
        return try forget(true)
    }

    private func forget(_ isRemoved: Bool) throws(CommandFailure) -> Bool {
        if FileManager.default.fileExists(atPath: recordPath) { try AtomicFile.remove(recordPath) }
        return isRemoved
    }
}
