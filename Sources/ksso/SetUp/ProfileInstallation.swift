internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import SignOnPolicy
internal import SystemSupport

/// Installs a profile where `ksso` finds it.
struct ProfileInstallation {
    /// The place to install to.
    struct Place {
        let directory: String
        /// Whether the profile applies to every user of the machine.
        let isSystem: Bool
        let search: ProfileSearch
    }

    private let name: String
    private let content: Data
    /// The arguments of `ksso setup` that name the profile.
    private let arguments: [String]
    private let place: Place

    private var path: String { "\(place.directory)/\(name)" }

    /// Prepares the installation of a profile's file.
    init(copying file: String, to place: Place) async throws(CommandFailure) {
        let suffixes = [".mobileconfig", ".yaml", ".yml"]
        name = URL(fileURLWithPath: file).lastPathComponent
        // A missing file is reported below. Its name may be misspelled.
        guard suffixes.contains(where: name.hasSuffix) && !name.hasPrefix(".") || access(file, F_OK) != 0 else {
            throw CommandFailure(
                .failed,
                "\(file): a profile's file name must end in one of \(suffixes.joined(separator: ", ")). Rename the file."
            )
        }
        do {
            // This reports what cannot be read or used in the named file, and limits its size.
            content = try await Self.aside {
                _ = try Profile(contentsOf: file, policy: place.search.policy())
                return try Data(contentsOf: URL(fileURLWithPath: file))
            }
        } catch {
            throw CommandFailure(error, verbose: false)
        }
        arguments = [file]
        self.place = place
    }

    /// Prepares the installation of a new profile.
    init(realm: String, hosts: [String], principal: String?, in place: Place) {
        name = "\(realm.lowercased().replacing("/", with: "_")).yaml"
        let list = hosts.map(Self.quoted).joined(separator: ", ")
        var lines = [
            "# Made by: ksso setup", "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension", "TeamIdentifier: apple",
            "Type: Credential", "Realm: \(Self.quoted(realm))", "Hosts: [\(list)]",
        ]
        if let principal { lines += ["ExtensionData:", "  principalName: \(Self.quoted(principal))"] }
        content = Data((lines.joined(separator: "\n") + "\n").utf8)
        arguments = ["--realm", realm] + hosts.flatMap { ["--host", $0] } + (principal.map { ["--principal", $0] } ?? [])
        self.place = place
    }

    /// Quotes a text for YAML with single quotes, in which a quote is doubled and nothing else is escaped.
    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }

    /// Checks and installs the profile, unless another file is in its place.
    ///
    /// - Returns: The profile as it is active now.
    func run(force: Bool) async throws -> Profile {
        let profile = try await Self.aside { [content, path, place] in
            try Profile(data: content, source: path, policy: place.search.policy())
        }
        let before = FileManager.default.contents(atPath: path)
        guard before != content else {
            Console.print("\(path): already installed")
            return try await activeProfile(profile)
        }
        guard before == nil && !FileManager.default.fileExists(atPath: path) || force else {
            let words = (place.isSystem ? ["--system"] : []) + ["--force"] + arguments.map(shellWord)
            throw CommandFailure(
                .failed,
                "\(path): another profile has this name. To replace it, use: ksso setup \(words.joined(separator: " "))"
            )
        }
        let others = try await search.load().profiles.filter { $0.source != path }
        try refuseRepeatedHost(of: profile, alongside: others)
        try write(content)
        do {
            let profile = try await activeProfile(profile, alongside: others.map(\.source))
            try InstalledProfiles(directory: place.directory).add(name, content)
            Console.print("\(path): \(before == nil ? "installed" : "replaced")")
            return profile
        } catch {
            // Restores the previous state, because a profile that is rejected for its hosts or for the folder's owner has no effect.
            if let before { try? write(before) } else { try? FileManager.default.removeItem(atPath: path) }
            throw error
        }
    }

    /// Throws if another profile has a host of this one, as the same profile under another name does, or if a system-wide profile covers a
    /// host of the user's. The message says how to replace it.
    private func refuseRepeatedHost(of profile: Profile, alongside others: [Profile]) throws(CommandFailure) {
        let hosts = profile.configurations.flatMap(\.hosts)
        for other in others {
            let taken = Set(other.configurations.flatMap(\.hosts))
            let isOtherSystem = other.source.hasPrefix("\(place.search.systemDirectory)/")
            let useAdvice = "To use that profile, which is for every user, run: ksso setup"
            guard let host = hosts.first(where: taken.contains) else {
                guard isOtherSystem, !place.isSystem, let host = hosts.first(where: { host in taken.contains { $0.covers(host) } }) else {
                    continue
                }
                throw CommandFailure(.failed, "\(path): the host \(host) is covered by \(other.source). \(useAdvice)")
            }
            let sentence = "\(path): the host \(host) is also in \(other.source), and a host belongs to one profile."
            guard place.isSystem || !isOtherSystem else { throw CommandFailure(.failed, "\(sentence) \(useAdvice)") }
            let file = URL(fileURLWithPath: other.source).lastPathComponent
            let removal = ["ksso profile remove"] + (isOtherSystem ? ["--system"] : []) + [shellWord(file)]
            let words = ["ksso setup"] + (place.isSystem ? ["--system"] : []) + arguments.map(shellWord)
            throw CommandFailure(
                .failed,
                "\(sentence) To replace that profile, use: \((removal + ["&&"] + words).joined(separator: " "))"
            )
        }
    }

    /// Runs work on a separate thread, because verifying a signature runs a program, and a home directory may be on a server.
    private static func aside<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await BlockingCall.run { Result(catching: body) }.get()
    }

    /// The search for the installed profiles, without those that are named explicitly.
    private var search: ProfileSearch {
        var search = place.search
        search.explicitPaths = []
        return search
    }

    /// Returns the profile as the search finds it; throws the reason if it is not found.
    ///
    /// - Parameter others: The profiles that must stay active, because a profile whose name comes first takes the hosts of later ones.
    private func activeProfile(_ profile: Profile, alongside others: [String] = []) async throws -> Profile {
        let found = try await search.load()
        if let displaced = found.warnings.first(where: { others.contains($0.source) && $0.code == .rejected }) {
            throw CommandFailure(.failed, displaced.message)
        }
        if let profile = found.profiles.first(where: { $0.source == path }) {
            for warning in found.warnings where warning.source == path { Console.note("warning: \(warning.message)") }
            for warning in profile.configurations.flatMap(\.warnings) { Console.note("warning: \(warning)") }
            return profile
        }
        let reason = found.warnings.first { $0.source == path || path.hasPrefix("\($0.source)/") || $0.error?.code == .policyUnusable }
        throw CommandFailure(.failed, reason?.message ?? "\(path): the profile was not found there after its installation.")
    }

    private func write(_ data: Data) throws(CommandFailure) {
        let files = FileManager.default
        // The search ignores files with this name.
        let draft = "\(place.directory)/.\(name).\(getpid())"
        do {
            try files.createDirectory(
                atPath: place.directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: place.isSystem ? 0o755 : 0o700]
            )
            defer { try? files.removeItem(atPath: draft) }
            guard files.createFile(atPath: draft, contents: data, attributes: [.posixPermissions: place.isSystem ? 0o644 : 0o600]),
                rename(draft, path) == 0
            else { throw CommandFailure(.failed, "\(path): the file cannot be written: \(String(cString: strerror(errno))).") }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written: \(error.localizedDescription)")
        }
    }
}
