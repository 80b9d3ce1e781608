internal import ArgumentParser
internal import Foundation
internal import Subprocess
internal import SystemPackage
internal import SystemSupport

/// The candidates for the words of `ksso realm`, from the description that the program `ksso-realm` prints of itself.
struct RealmCompletions: Decodable {
    /// A command, as ArgumentParser describes it.
    struct Command: Decodable {
        let commandName: String
        let arguments: [Argument]?
        let subcommands: [Command]?

        fileprivate var options: [Argument] { (arguments ?? []).filter { $0.kind != "positional" && $0.shouldDisplay } }

        /// The option of a name that a value follows.
        fileprivate func option(_ name: String) -> Argument? {
            options.first { $0.kind == "option" && $0.names?.contains { $0.text == name } == true }
        }

        /// Whether one of the words is neither an option nor the value of one.
        fileprivate func hasPositional(_ words: ArraySlice<String>) -> Bool {
            var words = words
            while let word = words.popFirst() {
                if option(word) != nil { words = words.dropFirst() } else if !word.hasPrefix("-") { return true }
            }
            return false
        }

        fileprivate var positional: Argument? { arguments?.first { $0.kind == "positional" } }
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String

            fileprivate var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        /// What follows it. ArgumentParser has more kinds, which have no candidates here.
        struct Values: Decodable {
            struct List: Decodable { let values: [String] }
            struct Files: Decodable {}

            let list: List?
            let file: Files?
        }

        let kind: String
        let names: [Name]?
        let shouldDisplay: Bool
        let isRepeating: Bool
        let valueName: String?
        let completionKind: Values?

        /// - Parameter realms: The realms that run, one of which an option such as that of `fault` selects.
        fileprivate func candidates(for word: String, realms: [String]) -> [String] {
            // With the option that may be repeated, `run` creates realms.
            if valueName == "realm", !isRepeating { return realms }
            return completionKind?.file == nil ? completionKind?.list?.values ?? [] : Self.files(beginning: word)
        }

        private static func files(beginning word: String) -> [String] {
            let folder = word.lastIndex(of: "/").map { String(word[...$0]) } ?? ""
            let place = NSString(string: folder.isEmpty ? "." : folder).expandingTildeInPath
            let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
            let isHiddenWanted = word.dropFirst(folder.count).hasPrefix(".")
            return names.filter { isHiddenWanted || !$0.hasPrefix(".") }.map { name in
                folder + name + (FileStatus(path: "\(place)/\(name)")?.isDirectory == true ? "/" : "")
            }
        }
    }

    private let command: Command

    /// Asks the program; nil if it does not answer, for example because it is not installed.
    init?(of program: String) async {
        let result = try? await Subprocess.run(
            .path(FilePath(program)),
            arguments: Arguments(["--experimental-dump-help"]),
            input: .none,
            output: .data(limit: 1 << 20),
            error: .discarded
        )
        guard let text = result?.standardOutput, let document = try? JSONDecoder().decode(Self.self, from: text) else { return nil }
        self = document
    }

    /// - Parameters:
    ///   - words: The words between `ksso realm` and the word to complete.
    ///   - word: The word to complete, as far as it is typed.
    ///   - realms: The realms of the enclosing `ksso realm run`.
    func candidates(after words: [String], word: String, realms: [String]) -> [String] {
        guard !words.contains("--") else { return [] }
        var command = command
        var arguments = words[...]
        while let first = arguments.first, let next = command.subcommands?.first(where: { $0.commandName == first }) {
            command = next
            arguments.removeFirst()
        }
        if let last = words.last, let option = command.option(last) { return option.candidates(for: word, realms: realms) }
        // bash passes the value of --file=plan.yaml as a word of its own, zsh and fish do not.
        if let end = word.firstIndex(of: "="), let option = command.option(String(word[..<end])) {
            return option.candidates(for: String(word[end...].dropFirst()), realms: realms).map { "\(word[...end])\($0)" }
        }
        if word.hasPrefix("-") { return command.options.flatMap { ($0.names ?? []).map(\.text) } }
        let subcommands = (command.subcommands ?? []).map(\.commandName).filter { $0 != "help" }
        guard subcommands.isEmpty else { return subcommands }
        guard let positional = command.positional, positional.isRepeating || !command.hasPositional(arguments) else { return [] }
        return positional.candidates(for: word, realms: realms)
    }
}
