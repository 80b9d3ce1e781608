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
        status = ExitStatus(rawValue: root.exitCode(for: error).rawValue)
        let text = root.fullMessage(for: error)
        self.text = status == .done ? Self.endingWithExamples(text) : Self.suggesting(text, root, arguments)
    }

    /// Prints help to standard output, and an error to standard error.
    package func show() {
        guard !text.isEmpty else { return }
        let data = Data("\(text)\n".utf8)
        if status == .done { Console.write(data, to: .standardOutput) } else { try? FileHandle.standardError.write(contentsOf: data) }
    }
}

extension ParserMessage {
    /// Names the word that is not a subcommand, and the one that it probably means. ArgumentParser suggests only options of the command,
    /// and complains about an option that follows the word instead.
    private static func suggesting(_ text: String, _ root: any ParsableCommand.Type, _ arguments: [String]) -> String {
        guard let (word, names) = unknownWord(in: arguments, of: root) else { return text }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if !word.hasPrefix("-") {
            lines[0] = "Error: Unexpected argument '\(word)'"
        } else if !lines[0].contains("'\(word)'") || lines[0].contains("Did you mean") {
            return text
        }
        if let name = word.nearest(among: names, name: \.self) { lines[0] += ". Did you mean '\(name)'?" }
        return lines.joined(separator: "\n")
    }

    /// The first word that is not a subcommand where one is expected, and the words that are possible there.
    private static func unknownWord(in arguments: [String], of root: any ParsableCommand.Type) -> (word: String, names: [String])? {
        var command = root
        for word in arguments {
            let subcommands = command.configuration.subcommands
            guard !subcommands.isEmpty else { return nil }
            if word.hasPrefix("-") { return (word, ["--help", "--version"]) }
            guard let next = subcommands.first(where: { $0._commandName == word }) else {
                return (word, subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName })
            }
            command = next
        }
        return nil
    }

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
