import HTTPNegotiate

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
