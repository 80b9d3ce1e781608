internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

struct Passwd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change your password; existing tickets stay valid.",
        discussion: """
            Requires a password server: kpasswd_server or admin_server of the realm in krb5.conf, or an SRV record _kpasswd._udp in DNS. \
            The profile's password rules are checked first; the KDC makes the final decision. If the profile names a web page for changing \
            passwords, ksso prints its address and changes nothing.

            EXAMPLES:
              ksso passwd
              ksso passwd alice@CORP.EXAMPLE
            """
    )

    @Argument(help: "The principal whose password changes; by default the profile's, the stored one, or $USER.", completion: .principal)
    var principal: String?
    @Option(help: "The realm of a principal given without one.", completion: .realm)
    var realm: String?
    @Flag(help: "Read the passwords from standard input: the current one, then the new one, one per line.")
    var passwordStdin = false
    @Option(help: ArgumentHelp("Protect the sign-in (FAST) with the ticket in this cache.", valueName: "name"))
    var armorCache: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try ArmorCaches.check(armorCache)
        try await common.engine.run(armorCache: armorCache) { sso in
            // This check precedes every prompt.
            let whom = try await sso.checkPasswordChange(of: principal, realm: realm)
            let change: PasswordChange
            do {
                change = try await self.change(of: whom, sso)
            } catch let error as KerberosError where error.code == .wrongPassword {
                throw CommandFailure(.failed, "\(whom): the current password is wrong (preauthentication failed). Nothing was changed.")
            }
            let expiry = change.expires.map { "; the new one expires on \($0.localTextWithTimeLeft)" } ?? ""
            Console.print("The password of \(change.principal) was changed\(expiry).")
        }
    }

    private func change(of whom: Principal, _ sso: SingleSignOn) async throws -> PasswordChange {
        if passwordStdin {
            let current = try await StandardInput.secretLine()
            let new = try await StandardInput.secretLine()
            return try await sso.changePassword(of: whom.description, realm: whom.realm, from: current, to: new)
        }
        guard Console.hasTerminal else {
            let message =
                "passwords are required, and there is no terminal for the prompts. Use --password-stdin, with one password per line."
            throw CommandFailure(.notInteractive, message)
        }
        return try await sso.changePassword(of: whom.description, realm: whom.realm, prompt: .terminal)
    }
}
