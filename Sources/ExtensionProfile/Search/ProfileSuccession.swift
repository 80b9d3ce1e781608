import HTTPNegotiate

/// Files that are read again, and what was in force before.
///
/// Each file counts by itself: one that was in force and can't be used as it is now stays as it was, so that a slip of the pen signs nobody
/// out, and the others count as they are now. What the machine's policy of now refuses does not stay.
struct ProfileSuccession {
    private struct File {
        let source: String
        var profile: Profile?
        var error: ProfileError?
        var isKept = false
    }

    private let before: [String: Profile]
    private let order: [String]
    private let policy: ProfilePolicy
    private var files: [File] = []
    private var directoryErrors: [ProfileError] = []

    init(of inForce: [Profile], policy: ProfilePolicy) {
        before = Dictionary(inForce.map { ($0.source, $0) }) { first, _ in first }
        order = inForce.map(\.source)
        self.policy = policy
    }

    /// Takes a file as it is now, or as it was.
    mutating func take(_ source: String, _ read: () throws(ProfileError) -> Profile) {
        files.append(File(source: source))
        let place = files.count - 1
        do throws(ProfileError) {
            files[place].profile = try read()
        } catch {
            // What the policy refuses is in force no more.
            if [.unsigned, .untrustedSigner].contains(error.code) { files[place].error = error } else { keep(place, error) }
        }
    }

    /// Takes the files of a directory that can't be used as they were.
    mutating func reject(directory: String, _ error: ProfileError) {
        directoryErrors.append(error)
        let seen = Set(files.map(\.source))
        for source in order where source.hasPrefix(directory + "/") && !seen.contains(source) {
            files.append(File(source: source))
            keep(files.count - 1, nil)
        }
    }

    /// All of them, each host belonging to one.
    func finished() -> ProfileSearchResult {
        var settled = self
        while let (first, second, host) = settled.repetition() {
            let hasChanged = settled.files[second].profile != before[settled.files[second].source]
            let (place, other) = hasChanged && !settled.files[second].isKept ? (second, first) : (first, second)
            guard !settled.files[place].isKept else { break }
            settled.keep(place, settled.repeatedHost(host, in: place, and: other))
        }
        var collection = ProfileCollection()
        for error in directoryErrors { collection.reject(error) }
        for file in settled.files {
            if let error = file.error { collection.reject(error) }
            guard let profile = file.profile else { continue }
            do throws(ProfileError) {
                try collection.add(profile)
            } catch {
                collection.reject(error)
            }
        }
        return collection.finished()
    }

    private mutating func keep(_ place: Int, _ error: ProfileError?) {
        files[place].isKept = true
        files[place].error = error
        files[place].profile = nil
        guard let profile = before[files[place].source] else { return }
        do throws(ProfileError) {
            files[place].profile = try Profile(data: profile.data, source: profile.source, policy: policy)
        } catch {
            files[place].error = error
        }
    }

    /// A host of a file that was in force, which one before it names too.
    private func repetition() -> (first: Int, second: Int, host: HostRule)? {
        var owners: [HostRule: Int] = [:]
        for (place, file) in files.enumerated() {
            let hosts = file.profile?.payloads.flatMap(\.hosts) ?? []
            if let host = hosts.first(where: { owners[$0] != nil }), let owner = owners[host] {
                guard before[file.source] != nil else { continue }
                return (owner, place, host)
            }
            for host in hosts { owners[host] = place }
        }
        return nil
    }

    private func repeatedHost(_ host: HostRule, in place: Int, and other: Int) -> ProfileError {
        ProfileError(
            .repeatedHost,
            source: files[place].source,
            reason: "The host \(host) stands in \(files[other].source) as well, which is in force. A host belongs to one profile."
        )
    }
}

/// Profiles as they are found, each host belonging to the first that names it.
struct ProfileCollection {
    private var result = ProfileSearchResult()
    private var owners: [HostRule: String] = [:]

    /// Takes a profile. Throws, and takes nothing of it, when it repeats a host.
    mutating func add(_ profile: Profile) throws(ProfileError) {
        for payload in profile.payloads {
            for (offset, host) in payload.hosts.enumerated() {
                guard let owner = owners[host] else { continue }
                throw ProfileError(
                    .repeatedHost,
                    source: profile.source,
                    keyPath: payload.path.appending(key: "Hosts").appending(index: offset),
                    reason: "The host \(host) stands in \(owner) as well, which was read first. A host belongs to one profile; "
                        + "this one is left out as a whole."
                )
            }
        }
        for host in profile.payloads.flatMap(\.hosts) { owners[host] = profile.source }
        result.profiles.append(profile)
        if let signature = profile.signature, !signature.isTrusted {
            let message = "\(profile.source): The profile is \(signature)."
            result.warnings.append(ProfileWarning(.untrustedSigner, source: profile.source, message: message))
        }
        for row in profile.report.rows {
            guard case .misspelt = row.verdict else { continue }
            result.warnings.append(ProfileWarning(.misspeltKey, source: profile.source, message: "\(profile.source): \(row)."))
        }
    }

    /// Notes a file or directory that is left out.
    mutating func reject(_ error: ProfileError) {
        result.warnings.append(ProfileWarning(.rejected, source: error.source, message: error.message, error: error))
    }

    /// All of them, with what only shows now.
    func finished() -> ProfileSearchResult {
        let defaults = result.profiles.filter { $0.configurations.contains(where: \.isDefaultRealm) }
        guard defaults.count > 1, let last = defaults.last else { return result }
        var result = result
        let files = defaults.map(\.source).joined(separator: ", ")
        result.warnings.append(
            ProfileWarning(
                .severalDefaultRealms,
                source: last.source,
                message: "More than one profile says isDefaultRealm: \(files). Keep it in one."
            )
        )
        return result
    }
}
