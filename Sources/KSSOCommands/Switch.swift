internal import ArgumentParser
internal import Kerberos
internal import KerberosSSO

struct Switch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make a signed-in principal the default of its realm.")

    @Argument(help: "The principal that shall answer.")
    var principal: String
    @Option(help: "The realm of a principal that names none.")
    var realm: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { sso in
            let session = try await sso.makeDefault(try await sso.principal(principal, realm: realm))
            Console.print("\(session.principal) is the default of \(session.realm).")
        }
    }
}
