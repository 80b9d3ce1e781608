public import HTTPNegotiate

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
