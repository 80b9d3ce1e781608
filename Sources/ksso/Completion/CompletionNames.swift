internal import ArgumentParser
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

extension CompletionKind {
    /// Files that are profiles by their names.
    static var profile: CompletionKind { .file(extensions: ["mobileconfig", "yaml", "yml"]) }

    /// The principals of the sessions and profiles.
    static var principal: CompletionKind { names { names, _ in names.principals } }

    /// The principals that are signed in.
    static var signedInPrincipal: CompletionKind { names { names, _ in names.sessions.map(\.principal.description) } }

    /// The realms of the sessions and profiles.
    static var realm: CompletionKind { names { names, _ in names.realms } }

    /// The hosts that profiles and service tickets name, as the word so far requires: with or without a scheme.
    static var page: CompletionKind { names { names, word in names.pages(beginning: word) } }

    /// What ``page`` and ``realm`` complete.
    static var pageOrRealm: CompletionKind { names { names, word in names.pages(beginning: word) + names.realms } }

    private static func names(_ choose: @escaping @Sendable (CompletionNames, String) -> [String]) -> CompletionKind {
        .custom { words, index, prefix in
            let word = index < words.count ? words[index] : prefix
            return CompletionCandidates.format(choose(await CompletionNames.read(for: words), word))
        }
    }
}

/// The names in the profiles and in the credential caches.
struct CompletionNames: Sendable {
    private var configurations: [ExtensionConfiguration] = []
    private(set) var sessions: [Session] = []
    private var testRealms: [String] = []

    /// Reads the names without the network and without messages. Returns none if that takes a second, because the user waits at a prompt.
    ///
    /// - Parameter words: The command line, whose option `--profile` has its usual effect.
    static func read(for words: [String]) async -> CompletionNames {
        let profiles = zip(words, words.dropFirst()).filter { $0.0 == "--profile" && !$0.1.isEmpty }.map { $0.1 }
        return await firstResult(within: Duration.seconds(1).patient) { await gather(profiles) } ?? CompletionNames()
    }

    private static func gather(_ profiles: [String]) async -> CompletionNames {
        let testRealms = await enclosingRealms()
        guard let sso = try? await SingleSignOn(.automatic(profiles: profiles)) else {
            // An agent that cannot be used leaves the profiles.
            let configurations = (try? await ProfileSearch(explicitPaths: profiles).load().configurations) ?? []
            return CompletionNames(configurations: configurations, testRealms: testRealms)
        }
        let sessions = try? await sso.sessions().sessions
        return CompletionNames(configurations: sso.profiles.flatMap(\.configurations), sessions: sessions ?? [], testRealms: testRealms)
    }

    /// The realms of the `ksso realm run` in which this process runs; none outside one, because the krb5.conf of a system may list many
    /// that are not in use.
    static func enclosingRealms() async -> [String] {
        guard EnclosingRealm.isInside(ProcessInfo.processInfo.environment) else { return [] }
        return (try? await KerberosClient(RealmConfiguration(realm: "")).configuredRealms()) ?? []
    }

    var realms: [String] { configurations.map(\.realm) + sessions.map(\.realm) + testRealms }

    var principals: [String] {
        let configured = configurations.compactMap { configuration in
            (configuration.principalName ?? configuration.userPrincipal).map { $0.contains("@") ? $0 : "\($0)@\(configuration.realm)" }
        }
        return configured + sessions.map(\.principal.description)
    }

    /// The hosts; a rule for all hosts below a domain names none.
    private var hosts: [String] {
        let configured = configurations.flatMap(\.hosts).compactMap(\.singleHost)
        let services = sessions.flatMap(\.services).map(\.principal.components)
        return configured + services.filter { $0.count == 2 && $0[0] == "HTTP" }.map { $0[1] }
    }

    func pages(beginning word: String) -> [String] {
        let scheme = ["https://", "http://"].first { !word.isEmpty && ($0.hasPrefix(word) || word.hasPrefix($0)) }
        return hosts + (scheme.map { scheme in hosts.map { scheme + $0 } } ?? [])
    }
}

/// Candidates in the form that the shell's script reads, one on a line.
enum CompletionCandidates {
    /// The different candidates in order, without those that cannot be one word of a line.
    ///
    /// - Parameter areFiles: Whether they may contain spaces, because the shells quote the names of files.
    static func format(
        _ candidates: [String],
        for shell: CompletionShell? = CompletionShell.requesting,
        areFiles: Bool = false
    ) -> [String] {
        var known: Set<String> = [""]
        let words = candidates.filter { word in
            known.insert(word).inserted && word.escapedForDisplay() == word
                && !word.unicodeScalars.contains { $0.properties.isWhitespace && !(areFiles && $0 == " ") }
        }
        // bash expands the candidates like words of a script, so that one such as `$(reboot)` from a cache would be executed.
        return shell == .bash ? words.map(escapedForBash) : words
    }

    private static func escapedForBash(_ word: String) -> String {
        let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-:@%=,".unicodeScalars
        // By scalars, because a character such as a backtick with an accent is not ASCII, but bash reads bytes.
        return word.unicodeScalars.reduce(into: "") { $0 += plain.contains($1) || !$1.isASCII ? "\($1)" : "\\\($1)" }
    }
}
