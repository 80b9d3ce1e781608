internal import Foundation
internal import SystemSupport

/// The syntax in which a shell exports variables.
package enum ShellSyntax: Sendable {
    /// The syntax of sh, bash and zsh.
    case posix
    case fish

    /// Recognizes a shell by its name or path.
    package init?(argument: String) {
        switch argument.split(separator: "/").last {
        case "sh", "bash", "dash", "ksh", "zsh": self = .posix
        case "fish": self = .fish
        default: return nil
        }
    }

    /// Chooses the syntax of the shell that started this process; that of sh if it is another program.
    ///
    /// `SHELL` does not decide, because a script of bash evaluates the output also if its user's login shell is fish.
    package static var ofCaller: ShellSyntax {
        let caller = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(getppid())/exe")
        return caller.flatMap(Self.init(argument:)) ?? .posix
    }

    /// Returns the command that exports a variable.
    func export(_ name: String, _ value: String) -> String {
        switch self {
        case .posix: return "export \(name)=\(shellQuoted(value))"
        case .fish:
            // Between fish's single quotes, a backslash is special only before a quote or another backslash.
            let quoted = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "set -gx \(name) '\(quoted)';"
        }
    }
}
