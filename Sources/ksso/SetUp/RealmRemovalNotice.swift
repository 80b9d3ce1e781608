internal import CommandSupport
internal import ExtensionProfile
internal import SSOAgentClient
internal import SignOnPolicy

/// Says that a running agent signs out, which it does some seconds after the last profile of a realm was removed.
struct RealmRemovalNotice {
    private let search: ProfileSearch
    private let realms: Set<String>

    /// - Parameter search: The search, before anything is removed.
    init(_ search: ProfileSearch) async {
        self.search = search
        realms = await Self.realms(search)
    }

    /// Prints the notice if an agent runs and a realm is in no profile any more.
    func print(environment: [String: String]) async {
        let removed = realms.subtracting(await Self.realms(search)).sorted()
        guard !removed.isEmpty, RuntimeDirectory(environment: environment).servesRequests else { return }
        let names = removed.joined(separator: ", ")
        Console.note(
            "The agent will sign out of \(names) within a minute and destroy the tickets that ksso acquired, unless a profile names the "
                + "realm again by then. If you stop the agent before that, the tickets stay."
        )
    }

    private static func realms(_ search: ProfileSearch) async -> Set<String> {
        Set(((try? await search.load())?.configurations ?? []).map(\.realm))
    }
}
