internal import ExtensionProfile
internal import Foundation
internal import SSOAgentClient
internal import Synchronization
internal import SystemSupport

/// Reads the profiles at the start of the agent, and again whenever their files may have changed.
final class ProfileFollower: Sendable {
    /// The time of the last reading of the profiles, and the active profiles.
    struct Reading: Sendable {
        var date = Date()
        var sources: [String] = []
    }

    /// The reason for reading the profiles again.
    private enum Occasion: Sendable {
        case change
        case request
    }

    private let search: ProfileSearch
    /// How long to wait before accepting that a profile is missing or broken.
    private let settling: Duration
    /// How long no profile may name a realm before the realm's sessions end.
    private let removalGrace: Duration
    private let journal: Journal
    private let reading = Mutex(Reading())
    private let occasions = AsyncStream.makeStream(of: Occasion.self, bufferingPolicy: .bufferingNewest(1))

    init(_ options: AgentOptions, journal: Journal) {
        search = options.search
        settling = options.settling
        removalGrace = options.removalGrace
        self.journal = journal
    }

    /// The last reading of the profiles.
    var lastReading: Reading { reading.withLock { $0 } }

    /// Watches the places of the profiles; nil if the kernel provides no file watch.
    func makeWatch() -> FileWatch? { FileWatch { [search] in search.places } }

    /// Reads the profiles again, even if no change was detected. Can be called from any thread.
    func readAgain() { occasions.continuation.yield(.request) }

    /// Reads the profiles for the first time.
    ///
    /// - Throws: `ProfileError` if an explicitly named profile cannot be used.
    func read() async throws -> ProfileSearchResult {
        let found = try await search.load()
        for warning in found.warnings { journal.failure("warning: \(warning.message)") }
        noteReading(of: found.profiles)
        return found
    }

    /// Reads the profiles again on each occasion, until the task is canceled.
    ///
    /// - Parameters:
    ///   - first: The result of ``read()``.
    ///   - watch: Yields when a file may have changed.
    ///   - activate: Activates changed profiles; returns false if the active ones stay.
    func follow(
        _ first: ProfileSearchResult,
        _ watch: FileWatch?,
        _ activate: @Sendable ([Profile]) async -> Bool
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
            var found = await searchAgain(keeping: active.profiles)
            if active.mayPass(found) {
                guard (try? await Task.sleep(for: settling)) != nil else { return }
                found = await searchAgain(keeping: active.profiles)
            }
            // A request is applied at once. After a detected change, a file may be in the process of being moved.
            if occasion == .change, active.endsSessions(found) {
                guard (try? await Task.sleep(for: removalGrace)) != nil else { return }
                found = await searchAgain(keeping: active.profiles)
            }
            noteReading(of: active.profiles)
            switch active.verdict(on: found) {
            case .unchanged:
                let news = active.news(in: found)
                report(news, found)
                guard occasion == .request else { continue }
                for warning in found.kept where !news.warnings.contains(warning) { journal.failure(Self.sentence(warning)) }
                if found.kept.isEmpty { journal.note("the profiles were reloaded: they are unchanged.") }
            case .stay(let broken):
                let news = active.news(in: found)
                settle(news.settled)
                guard !news.warnings.isEmpty || occasion == .request else { continue }
                for warning in broken { journal.failure(Self.policySentence(warning)) }
            case .replace(let removed):
                report(active.news(in: found), found)
                guard await activate(found.profiles) else { continue }
                active.replace(with: found)
                noteReading(of: found.profiles)
                tellChange(found.profiles, removed)
            }
        }
    }

    /// Searches on a thread that may block on a disk.
    private func searchAgain(keeping active: [Profile]) async -> ProfileSearchResult {
        await BlockingCall.run { [search] in search.runAgain(keeping: active) }
    }

    private func noteReading(of profiles: [Profile]) {
        reading.withLock { $0 = Reading(date: Date(), sources: profiles.map(\.source)) }
    }

    private func report(_ news: (warnings: [ProfileWarning], settled: [ProfileWarning]), _ found: ProfileSearchResult) {
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
