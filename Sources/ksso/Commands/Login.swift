internal import ArgumentParser
internal import CommandSupport
internal import Kerberos
internal import KerberosSSO
internal import SSOAgentClient

struct Login: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in: acquire a ticket that all your programs can use.",
        discussion: """
            EXAMPLES:
              ksso login
              ksso login alice@CORP.EXAMPLE --remember
              ksso login --valid-for 1h
            """
    )

    @Argument(help: "The principal that signs in; by default the profile's principal, the stored one, or $USER.", completion: .principal)
    var principal: String?
    @Option(help: "The realm of a principal given without one.", completion: .realm)
    var realm: String?
    @OptionGroup var credential: CredentialOptions
    @Option(help: "Request a ticket with this lifetime, such as 10h.", transform: Lifetime.option)
    var lifetime: Lifetime?
    @Option(help: "Request a ticket that is renewable for this long, such as 7d.", transform: Lifetime.option)
    var renewable: Lifetime?
    @Option(help: ArgumentHelp("Store the ticket in this credential cache instead of the default one.", valueName: "name"))
    var cache: String?
    @Option(
        help: ArgumentHelp(
            "Protect the sign-in (FAST) with the ticket in this cache, such as the machine's, "
                + "acquired with kinit -k -c NAME or kinit -n -c NAME.",
            valueName: "name"
        )
    )
    var armorCache: String?
    @Flag(
        help: "Store the password after the KDC has accepted it, so that later tickets are acquired without prompting; logout removes it."
    )
    var remember = false
    @Flag(help: "Sign in again even if a ticket exists.")
    var force = false
    @Option(
        help: "Renew the ticket, or else sign in again, unless it stays valid for at least this long, such as 10m.",
        transform: Lifetime.option
    )
    var validFor: Lifetime?
    @Flag(name: [.long, .short], help: "Print nothing on success, and never prompt.")
    var quiet = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if remember { try credential.checkRemembering() }
        if let lifetime, let validFor, lifetime.duration <= validFor.duration {
            throw ValidationError("--lifetime must be longer than --valid-for.")
        }
    }

    func run() async throws {
        var signIn = SignInOperation()
        (signIn.principal, signIn.realm, signIn.credential) = (principal, realm, credential.choice)
        signIn.ticket.options = InitialCredentialOptions(lifetime: lifetime?.duration, renewableLifetime: renewable?.duration)
        signIn.ticket.cache = cache.map(CredentialCacheName.init(rawValue:))
        (signIn.ticket.isForced, signIn.ticket.validFor) = (force, validFor)
        (signIn.remembers, signIn.isQuiet) = (remember, quiet)
        try await signIn.run(common.engine, armorCache: armorCache)
    }
}

/// The armor caches of sign-ins and password changes.
enum ArmorCaches {
    /// The cache types whose tickets can be used by other processes.
    private static let cacheTypes = ["FILE", "DIR", "KEYRING", "KCM"]

    /// Throws for an armor cache of a type that libkrb5 does not support, because it could contain no ticket.
    static func check(_ name: String?) throws(CommandFailure) {
        guard let name, name.contains(":") else { return }
        let type = String(name.prefix { $0 != ":" })
        guard !cacheTypes.contains(type) else { return }
        let sentence =
            "--armor-cache \(name): the credential cache type \(type) is not supported. Use one of \(cacheTypes.joined(separator: ", "))."
        throw CommandFailure(.usage, sentence)
    }
}
