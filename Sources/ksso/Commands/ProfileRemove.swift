internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import SignOnPolicy
internal import SystemSupport

/// `ksso profile remove`, the opposite of the installation by `ksso setup`.
struct ProfileRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an installed profile.",
        discussion: """
            Removes the file from ~/.config/ksso. With --system, or as root if there is no such file, removes it from /etc/ksso, where \
            it applies to every user of the machine. A running agent signs out of a realm that no profile names any more.

            EXAMPLES:
              ksso profile remove corp.mobileconfig
              ksso profile remove --system corp.yaml
            """
    )

    @Argument(help: "The name of the file; its ending may be omitted.", completion: .custom { _, _, _ in Self.installedNames })
    var name: String
    @Flag(help: "Remove the profile of every user of the machine, as root.")
    var system = false

    func run() async throws {
        let search = ProfileSearch()
        let path = try path(search)
        let notice = await RealmRemovalNotice(search)
        let content = await BlockingCall.run { (try? Profile(contentsOf: path))?.configurations ?? [] }
        try AtomicFile.remove(path)
        Console.print("\(path): removed")
        for configuration in content {
            Console.print("    \(configuration.realm): \(configuration.hosts.map(\.description).joined(separator: " "))")
        }
        await notice.print(environment: ProcessInfo.processInfo.environment)
    }

    /// Returns the path of the profile that the argument names.
    private func path(_ search: ProfileSearch) throws(CommandFailure) -> String {
        let own = system ? [] : Self.files(in: search.userDirectory).filter(isNamed)
        let machine = Self.systemFiles(search).filter(isNamed)
        let found = own.isEmpty && (system || geteuid() == 0) ? machine : own
        switch found.count {
        case 1: return found[0]
        case 0 where !machine.isEmpty:
            let message =
                "\(machine[0]): this profile applies to every user, and only root can remove it: sudo ksso profile remove \(shellWord(name))"
            throw CommandFailure(.failed, message)
        case 0:
            let place = system ? search.systemDirectory : search.userDirectory ?? "~/.config/ksso"
            throw CommandFailure(.failed, "\(name): there is no such profile in \(place). To list the active ones: ksso profile show")
        default:
            throw CommandFailure(.usage, "\(name): several profiles have this name: \(found.joined(separator: ", ")). Add the ending.")
        }
    }

    /// Whether the argument is the path of a file, its name, or its name without the ending.
    private func isNamed(_ path: String) -> Bool {
        let file = URL(fileURLWithPath: path)
        return [path, file.lastPathComponent, file.deletingPathExtension().lastPathComponent].contains(name)
    }

    private static func files(in directory: String?, but excluded: String? = nil) -> [String] {
        guard let directory else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().filter { ProfileSearch.isProfile($0) && $0 != excluded }.map { "\(directory)/\($0)" }
    }

    /// The system-wide profiles. The policy in their directory is no profile.
    private static func systemFiles(_ search: ProfileSearch) -> [String] {
        files(in: search.systemDirectory, but: ProfilePolicy.fileName)
    }

    private static var installedNames: [String] {
        let search = ProfileSearch()
        let files = files(in: search.userDirectory) + (geteuid() == 0 ? systemFiles(search) : [])
        return CompletionCandidates.format(files.map { URL(fileURLWithPath: $0).lastPathComponent })
    }
}
