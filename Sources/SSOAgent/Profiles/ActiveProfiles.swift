internal import ExtensionProfile
internal import SignOnPolicy

/// The profiles that the agent uses, and the decision about what a new search finds.
struct ActiveProfiles: Sendable {
    /// The result of comparing a new search with the active profiles.
    enum Verdict: Sendable, Hashable {
        /// The profiles have not changed.
        case unchanged
        /// The system-wide policy cannot be used, possibly because it is being written. The active profiles stay.
        case stay(broken: [ProfileWarning])
        /// The profiles have changed. No profile names these realms any more.
        case replace(removedRealms: [String])
    }

    /// The active profiles in order of precedence.
    private(set) var profiles: [Profile]
    /// The warnings already logged.
    private var reported: Set<ProfileWarning>

    init(_ found: ProfileSearchResult) {
        profiles = found.profiles
        reported = Set(found.warnings)
    }

    /// Compares a new search with the active profiles.
    func verdict(on found: ProfileSearchResult) -> Verdict {
        let broken = found.warnings.filter { $0.error?.code == .policyUnusable }
        guard broken.isEmpty else { return .stay(broken: broken) }
        guard found.profiles != profiles else { return .unchanged }
        let realms = Set(found.configurations.map(\.realm))
        let removed = Set(profiles.flatMap(\.configurations).map(\.realm)).subtracting(realms)
        return .replace(removedRealms: removed.sorted())
    }

    /// Returns whether the result may be that of files in the process of being replaced: some editors remove the old file first, and a
    /// program that writes in place may not be done.
    func mayPass(_ found: ProfileSearchResult) -> Bool {
        switch verdict(on: found) {
        case .unchanged: found.warnings.contains { !reported.contains($0) }
        case .stay: true
        case .replace(let removed): !removed.isEmpty || found.warnings.contains { !reported.contains($0) }
        }
    }

    /// Returns whether the result would end sessions.
    func endsSessions(_ found: ProfileSearchResult) -> Bool {
        if case .replace(let removed) = verdict(on: found) { !removed.isEmpty } else { false }
    }

    /// Returns the new warnings, and the logged warnings that no longer apply. Records the new ones as logged.
    mutating func news(in found: ProfileSearchResult) -> (warnings: [ProfileWarning], settled: [ProfileWarning]) {
        let before = reported
        reported = Set(found.warnings)
        return (found.warnings.filter { !before.contains($0) }, before.subtracting(reported).sorted { $0.source < $1.source })
    }

    /// Makes the profiles of a search the active ones.
    mutating func replace(with found: ProfileSearchResult) { profiles = found.profiles }
}
