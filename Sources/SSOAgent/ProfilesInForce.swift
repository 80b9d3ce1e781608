internal import ExtensionProfile
internal import HTTPNegotiate

/// The profiles that the agent works by, and what becomes of them when they are read again.
struct ProfilesInForce: Sendable {
    /// What to do about what was found.
    enum Verdict: Sendable, Hashable {
        /// They are the same.
        case unchanged
        /// The machine's policy can't be used; it may be being written. So all stays as it was.
        case stay(broken: [ProfileWarning])
        /// They are others; the realms are named by none of them any more.
        case replace(removedRealms: [String])
    }

    /// In their order.
    private(set) var profiles: [Profile]
    /// What was told of already.
    private var told: Set<ProfileWarning>

    init(_ found: ProfileSearchResult) {
        profiles = found.profiles
        told = Set(found.warnings)
    }

    /// What to do about what was found now.
    func verdict(on found: ProfileSearchResult) -> Verdict {
        let broken = found.warnings.filter { $0.error?.code == .policyUnusable }
        guard broken.isEmpty else { return .stay(broken: broken) }
        guard found.profiles != profiles else { return .unchanged }
        let realms = Set(found.configurations.map(\.realm))
        let removed = Set(profiles.flatMap(\.configurations).map(\.realm)).subtracting(realms)
        return .replace(removedRealms: removed.sorted())
    }

    /// Whether what was found may be something that is being replaced: an editor takes the old file away first, a program that writes in
    /// place is not done.
    func mayPass(_ found: ProfileSearchResult) -> Bool {
        switch verdict(on: found) {
        case .unchanged: found.warnings.contains { !told.contains($0) }
        case .stay: true
        case .replace(let removed): !removed.isEmpty || found.warnings.contains { !told.contains($0) }
        }
    }

    /// Whether sessions would end by what was found.
    func endsSessions(_ found: ProfileSearchResult) -> Bool {
        if case .replace(let removed) = verdict(on: found) { !removed.isEmpty } else { false }
    }

    /// The warnings that are new, and are told now; and those that were told and are true no more.
    mutating func news(in found: ProfileSearchResult) -> (warnings: [ProfileWarning], settled: [ProfileWarning]) {
        let before = told
        told = Set(found.warnings)
        return (found.warnings.filter { !before.contains($0) }, before.subtracting(told).sorted { $0.source < $1.source })
    }

    /// Takes them over.
    mutating func replace(with found: ProfileSearchResult) { profiles = found.profiles }
}
