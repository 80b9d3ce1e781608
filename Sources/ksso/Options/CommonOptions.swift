internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import SSOAgentClient
internal import SignOnPolicy

/// The options of every command.
struct CommonOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Use this profile instead of the installed ones; may be repeated.", valueName: "file"),
        completion: .profile
    )
    var profile: [String] = []

    @Flag(name: [.long, .short], help: "Print more details; repeat (-vv) to include libkrb5's trace.")
    var verbose: Int

    var isVerbose: Bool { verbose > 0 }

    /// How the command opens the engine.
    var engine: EngineOptions { EngineOptions(profiles: profile, verbosity: verbose) }
}

/// A URL for a message: without the user and the password that it may hold.
func withoutUser(_ url: String) -> String { ExplanationDocument.withoutUser(url) }

/// Adds `https://` to the URL of a page if it begins with a host or with `//` instead of a scheme. Any other text is returned unchanged.
@Sendable func pageURL(_ text: String) -> String {
    // The usual URLs need no regular expression, whose compilation is 3 percent of the instructions of ksso header.
    if text.hasPrefix("https://") || text.hasPrefix("http://") { return text }
    if text.hasPrefix("//") { return "https:\(text)" }
    return text.wholeMatch(of: /([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?([\/?#].*)?/) == nil ? text : secureURL(ofHost: text)
}

/// The URL of a host, with or without a port and a path, for which the scheme is not given.
func secureURL(ofHost host: String) -> String { "https://\(host)" }

/// Parses a URL as the user typed it, after applying the strict rules.
func checkedURL(_ text: String) throws -> URL {
    guard !text.isEmpty else { throw CommandFailure(.usage, "the URL is empty.") }
    do {
        _ = try Origin(url: text)
    } catch {
        throw CommandFailure(.usage, "\(error.message)")
    }
    guard let url = URL(string: text) else { throw CommandFailure(.usage, "this is not a URL.") }
    return url
}
