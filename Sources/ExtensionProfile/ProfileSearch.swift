public import Foundation
import HTTPNegotiate

/// Where profiles are found, and which of them win.
///
/// Files that are named, by argument or in `KSSO_PROFILE`, are the only ones then, and each must be usable. Otherwise every
/// `*.mobileconfig`, `*.yaml` and `*.yml` counts, of the machine's directory first and then of the user's, in the order of their names.
/// There a file that is broken, that others can write, or that repeats a host of an earlier one is left out, with a warning. The file
/// `policy.yaml` of the machine's directory is a ``ProfilePolicy``, and holds for all of them, named ones included.
public struct ProfileSearch: Sendable {
    /// The files that were named; when there are any, no directory is looked into.
    public var explicitPaths: [String]
    /// The machine's directory. It and its files must belong to ``systemOwner`` and be writable by nobody else.
    public var systemDirectory: String
    /// The user's directory, if there is one. It and its files must belong to ``user`` or ``systemOwner`` and be writable by nobody else.
    public var userDirectory: String?
    /// The uid that owns the machine's directory: root.
    public var systemOwner: UInt32
    /// The uid that the user's directory is for.
    public var user: UInt32

    /// Plans a search.
    ///
    /// - Parameters:
    ///   - explicitPaths: The files that were named; when there are none, `KSSO_PROFILE` names them, joined with `:`.
    ///   - environment: The variables `KSSO_PROFILE`, `XDG_CONFIG_HOME` and `HOME` are read from here.
    ///   - systemDirectory: The machine's directory.
    ///   - userDirectory: The user's directory; nil for `$XDG_CONFIG_HOME/ksso`, or `~/.config/ksso`.
    ///   - systemOwner: The uid that owns the machine's directory.
    ///   - user: The uid that the user's directory is for; nil for the process's own.
    public init(
        explicitPaths: [String] = [],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        systemDirectory: String = "/etc/ksso",
        userDirectory: String? = nil,
        systemOwner: UInt32 = 0,
        user: UInt32? = nil
    ) {
        let named = (environment["KSSO_PROFILE"] ?? "").split(separator: ":").map(String.init)
        self.explicitPaths = explicitPaths.isEmpty ? named : explicitPaths
        self.systemDirectory = systemDirectory
        self.userDirectory = userDirectory ?? ProfileSearch.defaultUserDirectory(environment)
        self.systemOwner = systemOwner
        self.user = user ?? ProfileFile.currentUser
    }

    /// Finds and reads the profiles.
    ///
    /// Throws a ``ProfileError`` when a file that was named cannot be used. What is found in the directories is never an error.
    public func run() throws(ProfileError) -> ProfileSearchResult {
        guard !explicitPaths.isEmpty else { return found() }
        let policy = try policy()
        var collection = ProfileCollection()
        for path in explicitPaths { try collection.add(Profile(contentsOf: path, policy: policy)) }
        return collection.finished()
    }

    /// What the machine's administrator demands of profiles. Throws a ``ProfileError`` when that is there and can't be used.
    public func policy() throws(ProfileError) -> ProfilePolicy {
        try ProfilePolicy(directory: systemDirectory, trust: systemTrust)
    }

    /// Nothing that the machine's directory holds is anybody else's.
    private var systemTrust: ProfileFile.Trust { ProfileFile.Trust(owners: [systemOwner], followsLinks: false) }

    /// What is found in the directories.
    ///
    /// - Parameter inForce: What was found before; see ``ProfileSuccession``.
    func found(keeping inForce: [Profile] = []) -> ProfileSearchResult {
        let policy: ProfilePolicy
        do throws(ProfileError) {
            policy = try self.policy()
        } catch {
            return .unusable(error)
        }
        var succession = ProfileSuccession(of: inForce, policy: policy)
        look(into: systemDirectory, systemTrust, policy, &succession)
        if let userDirectory {
            // Links are the habit of those who keep their settings elsewhere; only they themselves can have made them.
            look(into: userDirectory, ProfileFile.Trust(owners: [user, systemOwner], followsLinks: true), policy, &succession)
        }
        return succession.finished()
    }

    private func look(into path: String, _ trust: ProfileFile.Trust, _ policy: ProfilePolicy, _ succession: inout ProfileSuccession) {
        do {
            guard let directory = try ProfileFile.directory(path: path, trust: trust) else { return }
            for name in try directory.names() where ProfileSearch.isProfile(name) {
                guard path != systemDirectory || name != ProfilePolicy.fileName else { continue }
                let source = "\(path)/\(name)"
                succession.take(source) { () throws(ProfileError) in
                    try Profile(data: directory.read(name: name, trust: trust), source: source, policy: policy)
                }
            }
        } catch {
            succession.reject(directory: path, error)
        }
    }

    private static func isProfile(_ name: String) -> Bool {
        !name.hasPrefix(".") && [".mobileconfig", ".yaml", ".yml"].contains { name.hasSuffix($0) }
    }

    /// The XDG base directories: a relative path in the variable is to be passed over.
    private static func defaultUserDirectory(_ environment: [String: String]) -> String? {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/ksso" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.config/ksso"
    }
}
