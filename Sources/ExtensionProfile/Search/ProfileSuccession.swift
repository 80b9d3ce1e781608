import SignOnPolicy

/// Combines the files of a repeated search with the profiles that are active.
///
/// Each file is handled separately. If an active file cannot be used any more, its earlier contents stay active, so that a typing error
/// signs no one out; the others are used as they are now. Contents that the machine's present policy refuses do not stay active.
struct ProfileSuccession {
    private struct File {
        let source: String
        /// Whether the file is in the system-wide directory.
        var isSystemWide = false
        var profile: Profile?
        var error: ProfileError?
        var isKept = false
    }

    private let before: [String: Profile]
    private let order: [String]
    private let policy: ProfilePolicy
    private let principals: UserPrincipals
    private var files: [File] = []
    private var directoryErrors: [ProfileError] = []

    init(of active: [Profile], policy: ProfilePolicy, principals: UserPrincipals) {
        before = Dictionary(active.map { ($0.source, $0) }) { first, _ in first }
        order = active.map(\.source)
        self.policy = policy
        self.principals = principals
    }

    /// Adds a file with its present contents, or with its earlier ones if those cannot be used.
    mutating func take(_ source: String, isSystemWide: Bool = false, _ read: () throws(ProfileError) -> Profile) {
        files.append(File(source: source, isSystemWide: isSystemWide))
        let place = files.count - 1
        do throws(ProfileError) {
            files[place].profile = try read().completed(by: principals)
        } catch {
            // A file that the policy refuses does not stay active.
            if [.unsigned, .untrustedSigner].contains(error.code) { files[place].error = error } else { keep(place, error) }
        }
    }

    /// Adds the earlier contents of the files of a directory that cannot be used.
    mutating func reject(directory: String, isSystemWide: Bool, _ error: ProfileError) {
        directoryErrors.append(error)
        let seen = Set(files.map(\.source))
        for source in order where source.hasPrefix(directory + "/") && !seen.contains(source) {
            files.append(File(source: source, isSystemWide: isSystemWide))
            keep(files.count - 1, nil)
        }
    }

    /// The result, in which each host belongs to one profile.
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
        if let fault = settled.principals.fault { collection.reject(fault) }
        for (place, file) in settled.files.enumerated() {
            if let error = file.error { collection.reject(error) }
            guard let profile = file.profile else { continue }
            do throws(ProfileError) {
                try collection.add(profile, isSystemWide: file.isSystemWide)
            } catch {
                collection.reject(error)
                // A user who adds a host of the machine's to a file stays signed in to the file's former hosts.
                guard !file.isSystemWide, !file.isKept, let former = before[file.source], former != profile else { continue }
                settled.keep(place, error)
                if let kept = settled.files[place].profile { try? collection.add(kept) }
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
            files[place].profile = try Profile(data: profile.data, source: profile.source, policy: policy).completed(by: principals)
        } catch {
            files[place].error = error
        }
    }

    /// The next host of a previously active file that an earlier file contains as well. A system-wide file that gets a host of a user's
    /// file is not meant: it has precedence at once.
    private func repetition() -> (first: Int, second: Int, host: HostRule)? {
        var owners: [HostRule: Int] = [:]
        for (place, file) in files.enumerated() {
            let hosts = file.profile?.payloads.flatMap(\.hosts) ?? []
            if let host = hosts.first(where: { owners[$0] != nil }), let owner = owners[host] {
                guard before[file.source] != nil, files[owner].isSystemWide == file.isSystemWide else { continue }
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
            reason: "The host \(host) is also in \(files[other].source), which is active. A host belongs to one profile."
        )
    }
}

/// Collects profiles in the order in which they are found. Each host belongs to the first profile that lists it, and a host that a
/// system-wide profile covers to that one: a user's profile adds hosts, and does not change the rules of the machine's.
struct ProfileCollection {
    private var result = ProfileSearchResult()
    private var owners: [HostRule: String] = [:]
    private var systemWideRules: [HostRule] = []
    private var systemWideProxies: [HostRule] = []

    /// Adds a profile. Throws, and adds nothing, if one of its hosts belongs to another profile.
    mutating func add(_ profile: Profile, isSystemWide: Bool = false) throws(ProfileError) {
        for payload in profile.payloads {
            for (offset, host) in payload.hosts.enumerated() {
                guard let claim = claim(on: host, isSystemWide: isSystemWide) else { continue }
                throw ProfileError(
                    .repeatedHost,
                    source: profile.source,
                    keyPath: payload.path.appending(key: "Hosts").appending(index: offset),
                    reason: "The host \(host) is \(claim). A host belongs to one profile; this one is ignored completely."
                )
            }
        }
        let proxies = profile.configurations.flatMap(\.proxyHosts)
        if !isSystemWide, let proxy = proxies.first(where: { proxy in systemWideProxies.contains { $0.covers(proxy) } }) {
            throw ProfileError(
                .repeatedHost,
                source: profile.source,
                reason:
                    "The proxy \(proxy) of ProxyHosts is covered by a profile that applies to all users; this one is ignored completely."
            )
        }
        let hosts = profile.payloads.flatMap(\.hosts)
        for host in hosts { owners[host] = profile.source }
        if isSystemWide {
            systemWideRules += hosts
            systemWideProxies += proxies
        }
        result.profiles.append(profile)
        if let signature = profile.signature, !signature.isTrusted {
            let message = "\(profile.source): The profile is \(signature)."
            result.warnings.append(ProfileWarning(.untrustedSigner, source: profile.source, message: message))
        }
        for row in profile.report.rows {
            guard case .misspelled = row.verdict else { continue }
            result.warnings.append(ProfileWarning(.misspelledKey, source: profile.source, message: "\(profile.source): \(row)."))
        }
    }

    /// Why a host belongs to a profile that was added before; nil if it does not.
    private func claim(on host: HostRule, isSystemWide: Bool) -> String? {
        if let owner = owners[host] { return "also in \(owner), which was read first" }
        guard !isSystemWide, let rule = systemWideRules.first(where: { $0.covers(host) }), let owner = owners[rule] else { return nil }
        return "covered by \(rule) in \(owner), which applies to all users"
    }

    /// Records a file or directory that is skipped.
    mutating func reject(_ error: ProfileError) {
        result.warnings.append(ProfileWarning(.rejected, source: error.source, message: error.message, error: error))
    }

    /// The result, with the warnings that concern several profiles.
    func finished() -> ProfileSearchResult {
        let defaults = result.profiles.filter { $0.configurations.contains(where: \.isDefaultRealm) }
        guard defaults.count > 1, let last = defaults.last else { return result }
        var result = result
        let files = defaults.map(\.source).joined(separator: ", ")
        result.warnings.append(
            ProfileWarning(
                .severalDefaultRealms,
                source: last.source,
                message: "More than one profile sets isDefaultRealm: \(files). Keep it in one."
            )
        )
        return result
    }
}
