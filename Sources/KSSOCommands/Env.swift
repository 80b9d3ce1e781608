internal import ArgumentParser
internal import Foundation
internal import KerberosSSO

struct Env: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print shell exports with which stock Kerberos programs share the tickets.",
        discussion: "Use: eval \"$(ksso env)\""
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { sso in
            let environment = try await KerberosEnvironment(sso, environment: ProcessInfo.processInfo.environment)
            Console.printExports(environment.variables)
        }
    }
}

/// A word that a POSIX shell reads back as it is.
func shellQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
}
