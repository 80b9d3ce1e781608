package import ArgumentParser
internal import Foundation
internal import SystemSupport

/// What ArgumentParser prints instead of running a command: a help text, the version, or a usage error.
package struct ParserMessage {
    package let text: String
    package let status: ExitStatus

    /// - Parameters:
    ///   - error: What parsing or running the command threw.
    ///   - root: The program's first command.
    ///   - arguments: The program's arguments.
    package init(_ error: any Error, _ root: any ParsableCommand.Type, arguments: [String]) {
        if let unknown = UnknownSubcommand(in: arguments, of: root) {
            (text, status) = (unknown.message, .usage)
            return
        }
        status = ExitStatus(rawValue: root.exitCode(for: error).rawValue)
        let text = root.fullMessage(for: error)
        if status == .done {
            self.text = Self.endingWithExamples(text)
        } else {
            self.text = UnknownOption(in: arguments, of: root, insteadOf: text)?.message ?? text
        }
    }

    /// Prints help to standard output, and an error to standard error.
    package func show() {
        guard !text.isEmpty else { return }
        let data = Data("\(text)\n".utf8)
        if status == .done { Console.write(data, to: .standardOutput) } else { try? FileHandle.standardError.write(contentsOf: data) }
    }
}

extension ParserMessage {
    /// Moves the examples, which are part of the description above the usage, to the end. Their lines are not wrapped, so that they can be
    /// copied.
    private static func endingWithExamples(_ help: String) -> String {
        guard let examples = help.range(of: "\nEXAMPLES:\n"),
            let usage = help.range(of: "\nUSAGE: ", range: examples.upperBound..<help.endIndex)
        else { return help }
        var lines: [String] = []
        for line in help[examples.upperBound..<usage.lowerBound].split(separator: "\n") {
            // The rest of a wrapped line is not indented.
            if let last = lines.last, !line.hasPrefix(" ") {
                lines[lines.count - 1] = "\(last) \(line)"
            } else {
                lines.append(String(line))
            }
        }
        let rest = help[usage.lowerBound...].trimmingCharacters(in: .newlines)
        return "\(help[..<examples.lowerBound])\n\(rest)\n\nEXAMPLES:\n\(lines.joined(separator: "\n"))"
    }
}

/// A word that is no subcommand where one is expected. ArgumentParser complains about an option that follows it, or prints the help of the
/// command before it.
private struct UnknownSubcommand {
    /// The error, the usage of the command that has no such subcommand, and how to get its help.
    let message: String

    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var path = [root._commandName]
        for word in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
            let subcommands = command.configuration.subcommands
            guard !subcommands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            guard let next = subcommands.first(where: { $0._commandName == word }) else {
                let shown = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
                let names = path.count == 1 ? shown + ["help"] : shown
                let suggestion = word.nearest(among: names, name: \.self).map { ". Did you mean '\($0)'?" } ?? ""
                let name = path.joined(separator: " ")
                message =
                    "Error: Unexpected argument '\(word)'\(suggestion)\nUsage: \(name) <subcommand>\n"
                    + "  See '\(name) --help' for more information."
                return
            }
            command = next
            path.append(word)
        }
        return nil
    }
}

/// An option that the command does not have. ArgumentParser may complain about its value, or about an argument that is missing, and it does
/// not suggest every option.
private struct UnknownOption {
    /// The error and the usage of the command.
    let message: String

    init?(in arguments: [String], of root: any ParsableCommand.Type, insteadOf text: String) {
        let (command, rest) = root.command(in: arguments)
        let words = rest.prefix { $0 != "--" }
        // In a help text, the lines about options begin with their names: `-v, --verbose   Print more details.`
        let options = command.helpMessage(columns: 500).matches(of: /(?m)^ +(-.*?)(?: {2}| <|$)/).map(\.1)
        let known = Set(options.flatMap { $0.matches(of: /--?[A-Za-z][a-z-]*/) }.map { String($0.0) } + ["--version"])
        // A value may follow the letter of a short option. A number is no option.
        func isUnknown(_ word: String) -> Bool {
            if word.hasPrefix("--") { return !known.contains(word.nameOfOption) }
            return word.contains(/^-[A-Za-z]/) && !known.contains(String(word.prefix(2)))
        }
        let option: String?
        if let word = text.prefixMatch(of: /Error: Unknown option '([^'\n]*)'/)?.1 {
            option = String(word)
        } else if text.hasPrefix("Error: Missing expected argument '<") {
            option = words.first(where: isUnknown)
        } else if let value = text.prefixMatch(of: /Error: The value '(.*)' is invalid for '</)?.1 {
            option = zip(words, words.dropFirst()).first { isUnknown($0.0) && $0.1 == value }?.0
        } else {
            option = nil
        }
        guard let option, let usage = text.range(of: "\nUsage: ") else { return nil }
        let names = known.filter { $0.hasPrefix("--") }.sorted()
        let suggestion = option.nameOfOption.nearest(among: names, name: \.self).map { ". Did you mean '\($0)'?" } ?? ""
        message = "Error: Unknown option '\(option)'\(suggestion)\(text[usage.lowerBound...])"
    }
}

extension String {
    /// The name of an option, without the value after `=`.
    fileprivate var nameOfOption: String { String(prefix { $0 != "=" }) }
}

extension ParsableCommand {
    /// The command that a program's arguments select, and the words after it.
    fileprivate static func command(in arguments: [String]) -> (any ParsableCommand.Type, ArraySlice<String>) {
        var command: any ParsableCommand.Type = self
        var words = arguments[...]
        while let next = command.configuration.subcommands.first(where: { $0._commandName == words.first }) {
            command = next
            words.removeFirst()
        }
        return (command, words)
    }
}
