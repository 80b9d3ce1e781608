import Dispatch
public import Foundation
public import HTTPNegotiate

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

extension ProfileSearch {
    /// The files and folders whose change may change what ``run()`` finds, whether or not they are there.
    package var places: [String] {
        guard explicitPaths.isEmpty else { return explicitPaths + ["\(systemDirectory)/\(ProfilePolicy.fileName)"] }
        return [systemDirectory] + (userDirectory.map { [$0] + links(in: $0) } ?? [])
    }

    /// What is found by one who has found something before: a named file that is gone is passed over, and one that can't be used is left
    /// out with a warning. The user chose a name when it was read first; what stands there later may be anybody's, so it must belong to
    /// ``user`` or ``systemOwner`` and be writable by nobody else.
    ///
    /// - Parameter inForce: What was found before: a file among them that can't be used as it is now stays as it was.
    package func runAgain(keeping inForce: [Profile] = []) -> ProfileSearchResult {
        guard !explicitPaths.isEmpty else { return found(keeping: inForce) }
        let trust = ProfileFile.Trust(owners: [user, systemOwner], followsLinks: true)
        let policy: ProfilePolicy
        do throws(ProfileError) {
            policy = try self.policy()
        } catch {
            return .unusable(error)
        }
        var succession = ProfileSuccession(of: inForce, policy: policy)
        for path in explicitPaths where ProfileFile.exists(path) {
            succession.take(path) { () throws(ProfileError) in
                try Profile(data: ProfileFile.read(path: path, trust: trust), source: path, policy: policy)
            }
        }
        return succession.finished()
    }

    /// ``run()``, on a thread that may wait for a disk and for the check of a signature.
    package func runAside() async throws(ProfileError) -> ProfileSearchResult {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                continuation.resume(returning: Result { () throws(ProfileError) in try run() })
            }
        }
        return try result.get()
    }

    /// What such a link leads to changes elsewhere.
    private func links(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().map { "\(directory)/\($0)" }
            .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: $0)) != nil }
    }
}

/// The profiles in force, and what stood in the way of others.
public struct ProfileSearchResult: Sendable, Hashable {
    /// The profiles in force, in the order in which they were found: the machine's before the user's.
    public internal(set) var profiles: [Profile]
    /// Why files were left out, and what is doubtful about those that were not.
    public internal(set) var warnings: [ProfileWarning]

    /// Makes a result, of profiles that were found in another way.
    public init(profiles: [Profile] = [], warnings: [ProfileWarning] = []) {
        self.profiles = profiles
        self.warnings = warnings
    }

    /// What all of them say to those who answer challenges.
    public var configurations: [ExtensionConfiguration] { profiles.flatMap(\.configurations) }

    /// Why files that are in force can't be used as they are now; they are in force as they were.
    package var kept: [ProfileWarning] {
        warnings.filter { warning in
            warning.code == .rejected
                && profiles.contains { $0.source == warning.source || $0.source.hasPrefix(warning.source + "/") }
        }
    }

    /// Nothing, and why.
    static func unusable(_ error: ProfileError) -> ProfileSearchResult {
        var collection = ProfileCollection()
        collection.reject(error)
        return collection.finished()
    }
}

/// Something about a profile that does not stop the others from being used.
public struct ProfileWarning: Sendable, Hashable, CustomStringConvertible {
    /// What kind of remark it is.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `rejected`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The file or directory was not read, or not taken; ``ProfileWarning/error`` says why.
        public static let rejected = Code(rawValue: "rejected")
        /// The file is used, and one of its keys is probably misspelt.
        public static let misspeltKey = Code(rawValue: "misspeltKey")
        /// The file is used, and is signed by somebody whom no anchor vouches for.
        public static let untrustedSigner = Code(rawValue: "untrustedSigner")
        /// More than one profile says that its realm is the default.
        public static let severalDefaultRealms = Code(rawValue: "severalDefaultRealms")
    }

    /// What kind of remark it is.
    public let code: Code
    /// The file or directory.
    public let source: String
    /// The whole message, with the file's name.
    public let message: String
    /// Why the file was rejected, if it was.
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
