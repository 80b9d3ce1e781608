internal import ExtensionProfile
internal import Foundation
internal import KCM
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

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
    private var told: Set<ProfileWarning>

    init(_ found: ProfileSearchResult) {
        profiles = found.profiles
        told = Set(found.warnings)
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
        case .unchanged: found.warnings.contains { !told.contains($0) }
        case .stay: true
        case .replace(let removed): !removed.isEmpty || found.warnings.contains { !told.contains($0) }
        }
    }

    /// Returns whether the result would end sessions.
    func endsSessions(_ found: ProfileSearchResult) -> Bool {
        if case .replace(let removed) = verdict(on: found) { !removed.isEmpty } else { false }
    }

    /// Returns the new warnings, and the logged warnings that no longer apply. Records the new ones as logged.
    mutating func news(in found: ProfileSearchResult) -> (warnings: [ProfileWarning], settled: [ProfileWarning]) {
        let before = told
        told = Set(found.warnings)
        return (found.warnings.filter { !before.contains($0) }, before.subtracting(told).sorted { $0.source < $1.source })
    }

    /// Makes the profiles of a search the active ones.
    mutating func replace(with found: ProfileSearchResult) { profiles = found.profiles }
}

extension Agent {
    /// The time of the last reading of the profiles, and the active profiles.
    struct Reading: Sendable {
        var date = Date()
        var sources: [String] = []
    }

    /// The reason for reading the profiles again.
    enum Occasion: Sendable {
        case change
        case request
    }

    /// Reads the profiles again, even if no change was detected. Can be called from any thread.
    package func readProfilesAgain() { occasions.continuation.yield(.request) }

    /// Reads the profiles for the first time.
    ///
    /// - Throws: `ProfileError` if an explicitly named profile cannot be used.
    func readProfiles() async throws -> ProfileSearchResult {
        let found = try await options.search.runAside()
        for warning in found.warnings { journal.failure("warning: \(warning.message)") }
        noteReading(of: found.profiles)
        return found
    }

    /// Applies changed profiles to krb5.conf, the extension, the access policy and the sessions.
    func followProfiles(
        _ first: ProfileSearchResult,
        _ watch: FileWatch?,
        _ current: CurrentExtension,
        _ keeper: SessionKeeper,
        _ caches: KCMServer?
    ) async {
        if watch == nil {
            journal.failure(
                "the kernel provides no file watch (fs.inotify.max_user_instances), so changes to the profiles are not detected. "
                    + "After a change, run: kill -HUP \(getpid())"
            )
        }
        let forwarding = Task { [occasions] in
            guard let watch else { return }
            for await _ in watch.changes { occasions.continuation.yield(.change) }
        }
        defer { forwarding.cancel() }
        var active = ActiveProfiles(first)
        for await occasion in occasions.stream {
            var found = await search(active.profiles)
            if active.mayPass(found) {
                guard (try? await Task.sleep(for: options.settling)) != nil else { return }
                found = await search(active.profiles)
            }
            // A request is applied at once. After a detected change, a file may be in the process of being moved.
            if occasion == .change, active.endsSessions(found) {
                guard (try? await Task.sleep(for: options.removalGrace)) != nil else { return }
                found = await search(active.profiles)
            }
            noteReading(of: active.profiles)
            switch active.verdict(on: found) {
            case .unchanged:
                let news = active.news(in: found)
                tell(news, found)
                guard occasion == .request else { continue }
                for warning in found.kept where !news.warnings.contains(warning) { journal.failure(Self.sentence(warning)) }
                if found.kept.isEmpty { journal.note("the profiles were reloaded: they are unchanged.") }
            case .stay(let broken):
                let news = active.news(in: found)
                settle(news.settled)
                guard !news.warnings.isEmpty || occasion == .request else { continue }
                for warning in broken { journal.failure(Self.policySentence(warning)) }
            case .replace(let removed):
                tell(active.news(in: found), found)
                guard await replace(found.profiles, current, keeper, caches) else { continue }
                active.replace(with: found)
                noteReading(of: found.profiles)
                tellChange(found.profiles, removed)
            }
        }
    }

    /// Searches on a thread that may block on a disk.
    private func search(_ active: [Profile]) async -> ProfileSearchResult {
        await BlockingCall.run { [search = options.search] in search.runAgain(keeping: active) }
    }

    /// Applies profiles; returns false if the active profiles stay.
    private func replace(
        _ profiles: [Profile],
        _ current: CurrentExtension,
        _ keeper: SessionKeeper,
        _ caches: KCMServer?
    ) async -> Bool {
        let successor: KerberosExtension
        do {
            successor = try await options.makeExtension(profiles, cacheSocket)
            try writeConfiguration(successor.policy)
        } catch {
            journal.failure("the profiles have changed, but cannot be activated: \(error)")
            return false
        }
        let predecessor = current.value
        current.replace(with: successor)
        predecessor.forgetServiceTickets()
        await caches?.closeConnections { current.access.permitsCaches($0) }
        keeper.configure(successor.policy.configurations)
        return true
    }

    private func noteReading(of profiles: [Profile]) {
        reading.withLock { $0 = Reading(date: Date(), sources: profiles.map(\.source)) }
    }

    private func tell(_ news: (warnings: [ProfileWarning], settled: [ProfileWarning]), _ found: ProfileSearchResult) {
        settle(news.settled)
        let kept = Set(found.kept)
        for warning in news.warnings {
            journal.failure(kept.contains(warning) ? Self.sentence(warning) : "warning: \(warning.message)")
        }
    }

    private func settle(_ warnings: [ProfileWarning]) {
        for warning in warnings { journal.settle("warning: \(warning.message)", "\(warning.source): fixed or removed.") }
    }

    private func tellChange(_ profiles: [Profile], _ removedRealms: [String]) {
        let sources = profiles.map(\.source).joined(separator: ", ")
        journal.note("the profiles have changed. Active: \(sources.isEmpty ? "none" : sources).")
        for realm in removedRealms {
            journal.failure("no profile names the realm \(realm) any longer: its sessions end, except those that other programs started.")
        }
    }

    private static func sentence(_ warning: ProfileWarning) -> String {
        "\(start(warning)) Until it is fixed or removed, the agent uses its previous version; commands read the files themselves. "
            + "See: ksso profile check \(warning.source)"
    }

    private static func policySentence(_ warning: ProfileWarning) -> String {
        "\(start(warning)) Until then, the agent uses the previous profiles; commands read the files themselves."
    }

    private static func start(_ warning: ProfileWarning) -> String {
        "warning: \(warning.message)\(warning.message.hasSuffix(".") ? "" : ".")"
    }
}
