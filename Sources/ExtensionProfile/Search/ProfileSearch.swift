public import Foundation
public import SignOnPolicy
internal import SystemSupport

/// Finds the profiles and decides which of them are used.
///
/// If files are named, by argument or in `KSSO_PROFILE`, only those are used, and each must be usable. Otherwise every `*.mobileconfig`,
/// `*.yaml` and `*.yml` is used, first of the system-wide directory and then of the user's, sorted by name. In these directories, a file
/// that is broken, that others can write to, or that repeats a host of an earlier one is skipped with a warning; so is a user's file with a
/// host that a system-wide one covers. The file `policy.yaml` of the system-wide directory is a ``ProfilePolicy``, which applies to all
/// profiles, including named ones. The file `principals` of the user's directory contains the user's principal in each realm, as
/// `name@REALM`, for profiles that name none.
public struct ProfileSearch: Sendable {
    /// The named files. If there are any, no directory is searched.
    public var explicitPaths: [String]
    /// The system-wide directory. It and its files must belong to ``systemOwner``, and no one else may be able to write to them.
    public var systemDirectory: String
    /// The user's directory, if there is one. It and its files must belong to ``user`` or ``systemOwner``, and no one else may be able to
    /// write to them.
    public var userDirectory: String?
    /// The user ID that owns the system-wide directory: root.
    public var systemOwner: UInt32
    /// The user ID that the user's directory is for.
    public var user: UInt32
    /// Whether the environment is that of `ksso realm run`. The user's principals are those of other realms, which may have the same names.
    private let isInTestRealm: Bool

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - explicitPaths: The named files; if there are none, `KSSO_PROFILE` names them, separated by `:`.
    ///   - environment: The environment with the variables `KSSO_PROFILE`, `XDG_CONFIG_HOME`, `HOME` and `KSSO_REALM_CONTROL`.
    ///   - systemDirectory: The system-wide directory.
    ///   - userDirectory: The user's directory; nil is `$XDG_CONFIG_HOME/ksso`, or `~/.config/ksso`.
    ///   - systemOwner: The user ID that owns the system-wide directory.
    ///   - user: The user ID that the user's directory is for; nil is the process's own.
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
        isInTestRealm = EnclosingRealm.isInside(environment)
    }

    /// Finds and reads the profiles. May block for a disk and for the verification of a signature: in a task, use ``load()``.
    ///
    /// Throws a ``ProfileError`` if a named file cannot be used. Faults in the directories only lead to warnings.
    public func run() throws(ProfileError) -> ProfileSearchResult {
        guard !explicitPaths.isEmpty else { return found() }
        let policy = try policy()
        var collection = ProfileCollection()
        let principals = userPrincipals
        for path in explicitPaths { try collection.add(Profile(contentsOf: path, policy: policy).completed(by: principals)) }
        if let fault = principals.fault { collection.reject(fault) }
        return collection.finished()
    }

    /// Reads the machine's policy. Throws a ``ProfileError`` if it exists and cannot be used.
    public func policy() throws(ProfileError) -> ProfilePolicy {
        try ProfilePolicy(directory: systemDirectory, trust: systemTrust)
    }

    /// Everything in the system-wide directory must belong to its owner.
    private var systemTrust: ProfileFile.Trust { ProfileFile.Trust(owners: [systemOwner], followsLinks: false) }

    /// Symbolic links are common in users' settings, and only the user can have created them in the user's directory.
    var userTrust: ProfileFile.Trust { ProfileFile.Trust(owners: [user, systemOwner], followsLinks: true) }

    private var userPrincipals: UserPrincipals {
        guard let userDirectory, !isInTestRealm else { return UserPrincipals() }
        return UserPrincipals(in: userDirectory, trust: userTrust)
    }

    /// Searches the directories.
    ///
    /// - Parameter active: The profiles that were found before; see ``ProfileSuccession``.
    func found(keeping active: [Profile] = []) -> ProfileSearchResult {
        let policy: ProfilePolicy
        do throws(ProfileError) {
            policy = try self.policy()
        } catch {
            return .unusable(error)
        }
        var succession = ProfileSuccession(of: active, policy: policy, principals: userPrincipals)
        look(into: systemDirectory, systemTrust, policy, &succession)
        if let userDirectory { look(into: userDirectory, userTrust, policy, &succession) }
        return succession.finished()
    }

    private func look(into path: String, _ trust: ProfileFile.Trust, _ policy: ProfilePolicy, _ succession: inout ProfileSuccession) {
        do {
            guard let directory = try ProfileFile.directory(path: path, trust: trust) else { return }
            for name in try directory.names() where ProfileSearch.isProfile(name) {
                guard path != systemDirectory || name != ProfilePolicy.fileName else { continue }
                let source = "\(path)/\(name)"
                succession.take(source, isSystemWide: path == systemDirectory) { () throws(ProfileError) in
                    try Profile(data: directory.read(name: name, trust: trust), source: source, policy: policy)
                }
            }
        } catch {
            succession.reject(directory: path, isSystemWide: path == systemDirectory, error)
        }
    }

    /// Whether a file of a directory is a profile by its name.
    package static func isProfile(_ name: String) -> Bool {
        !name.hasPrefix(".") && [".mobileconfig", ".yaml", ".yml"].contains { name.hasSuffix($0) }
    }

    /// Follows the XDG Base Directory Specification, which says to ignore relative paths.
    private static func defaultUserDirectory(_ environment: [String: String]) -> String? {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/ksso" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.config/ksso"
    }
}

extension ProfileSearch {
    /// The files and directories whose change may change the result of ``run()``, whether or not they exist.
    package var places: [String] {
        guard explicitPaths.isEmpty else {
            let principals = userDirectory.map { ["\($0)/\(UserPrincipals.fileName)"] } ?? []
            return explicitPaths + ["\(systemDirectory)/\(ProfilePolicy.fileName)"] + principals
        }
        return [systemDirectory] + (userDirectory.map { [$0] + links(in: $0) } ?? [])
    }

    /// Searches again after an earlier search. A named file that no longer exists is ignored, and one that cannot be used is skipped with a
    /// warning. The user chose the name at the first read. Because another user may have put the present file there, it must belong to
    /// ``user`` or ``systemOwner``, and no one else may be able to write to it.
    ///
    /// - Parameter active: The profiles that were found before. If one of these files cannot be used any more, its earlier contents stay
    ///   active.
    package func runAgain(keeping active: [Profile] = []) -> ProfileSearchResult {
        guard !explicitPaths.isEmpty else { return found(keeping: active) }
        let policy: ProfilePolicy
        do throws(ProfileError) {
            policy = try self.policy()
        } catch {
            return .unusable(error)
        }
        var succession = ProfileSuccession(of: active, policy: policy, principals: userPrincipals)
        for path in explicitPaths where ProfileFile.exists(path) {
            succession.take(path) { () throws(ProfileError) in
                try Profile(data: ProfileFile.read(path: path, trust: userTrust), source: path, policy: policy)
            }
        }
        return succession.finished()
    }

    /// Finds and reads the profiles, on a thread that may block.
    ///
    /// - Throws: ``ProfileError`` if a named file cannot be used. Faults in the directories only lead to warnings.
    public func load() async throws(ProfileError) -> ProfileSearchResult {
        try await BlockingCall.run { Result { () throws(ProfileError) in try run() } }.get()
    }

    /// The symbolic links in a directory. Their targets change elsewhere.
    private func links(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().map { "\(directory)/\($0)" }
            .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0)) != nil }
    }
}

/// The active profiles, and the warnings about others.
public struct ProfileSearchResult: Sendable, Hashable {
    /// The active profiles in the order in which they were found: system-wide ones before the user's.
    public internal(set) var profiles: [Profile]
    /// The warnings about skipped files, and about the active ones.
    public internal(set) var warnings: [ProfileWarning]

    /// Creates a result from profiles that were found in another way.
    public init(profiles: [Profile] = [], warnings: [ProfileWarning] = []) {
        self.profiles = profiles
        self.warnings = warnings
    }

    /// The configurations of all profiles.
    public var configurations: [ExtensionConfiguration] { profiles.flatMap(\.configurations) }

    /// The warnings about files that cannot be used any more and whose earlier contents stay active.
    package var kept: [ProfileWarning] {
        warnings.filter { warning in
            warning.code == .rejected
                && profiles.contains { $0.source == warning.source || $0.source.hasPrefix(warning.source + "/") }
        }
    }

    /// A result without profiles, with the reason.
    static func unusable(_ error: ProfileError) -> ProfileSearchResult {
        var collection = ProfileCollection()
        collection.reject(error)
        return collection.finished()
    }
}

/// A fault in a profile that does not affect other profiles.
public struct ProfileWarning: Sendable, Hashable, CustomStringConvertible {
    /// The kind of warning.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `rejected`.
        public let rawValue: String

        /// Creates a code. Later versions may have codes that are not listed here.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The file or directory was not read or not used; ``ProfileWarning/error`` states the reason.
        public static let rejected = Code(rawValue: "rejected")
        /// The file is used, and one of its keys is probably misspelled.
        public static let misspelledKey = Code(rawValue: "misspelledKey")
        /// The file is used, and no anchor covers its signer.
        public static let untrustedSigner = Code(rawValue: "untrustedSigner")
        /// More than one profile has a default realm.
        public static let severalDefaultRealms = Code(rawValue: "severalDefaultRealms")
    }

    /// The kind of warning.
    public let code: Code
    /// The file or directory.
    public let source: String
    /// The whole message, including the file's name.
    public let message: String
    /// The reason for the rejection, if the file was rejected.
    public let error: ProfileError?

    init(_ code: Code, source: String, message: String, error: ProfileError? = nil) {
        self.code = code
        self.source = source
        self.message = message
        self.error = error
    }

    /// The message.
    public var description: String { message }
}
