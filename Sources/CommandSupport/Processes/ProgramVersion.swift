internal import ArgumentParser
internal import CProgramVersion
internal import Kerberos

/// The version of the programs of this package, which are released together.
package enum ProgramVersion {
    /// The version, such as `0.1.0`; in a release build of a later commit with the commit, such as `0.1.0+12.gabc1234`.
    package static let current = String(cString: program_version())
}

extension ParsableCommand {
    /// Prints what `--version` prints, if an error of the parser is a request for it: the program, its version and that of libkrb5.
    ///
    /// The parser is given the program's version only, because it asks for it at each start.
    static func printVersion(requestedBy error: any Error) -> Bool {
        guard exitCode(for: error) == .success, let name = configuration.commandName, message(for: error) == configuration.version
        else { return false }
        let library = LibraryVersion.loaded().map { " (MIT krb5 \($0))" } ?? ""
        Console.print("\(name) \(ProgramVersion.current)\(library)")
        return true
    }
}
