internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

struct Login: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sign in: acquire a ticket that all your programs can use.",
        discussion: """
            EXAMPLES:
              ksso login
              ksso login alice@CORP.EXAMPLE --remember
            """
    )

    @Argument(help: "The principal that signs in; by default the profile's principal, or $USER.")
    var principal: String?
    @Option(help: "The realm of a principal given without one.")
    var realm: String?
    @Option(help: ArgumentHelp("Sign in with a key from this keytab, without prompting.", valueName: "file"))
    var keytab: String?
    @Option(
        help: ArgumentHelp(
            "Sign in with a certificate or smart card, such as FILE:cert.pem,key.pem, PKCS12:me.p12 or PKCS11:; "
                + "the value default uses the one that the profile or krb5.conf names.",
            valueName: "identity"
        )
    )
    var certificate: String?
    @Flag(help: "Read the password, or with --certificate the PIN, from the first line of standard input.")
    var passwordStdin = false
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
    @Flag(name: [.long, .short], help: "Print nothing on success, and never prompt.")
    var quiet = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if keytab != nil && passwordStdin { throw ValidationError("--keytab and --password-stdin are mutually exclusive.") }
        if remember, keytab != nil || certificate != nil {
            throw ValidationError("--remember stores a password, so it cannot be combined with --keytab or --certificate.")
        }
        if keytab != nil && certificate != nil { throw ValidationError("--keytab and --certificate are mutually exclusive.") }
    }

    func run() async throws {
        var signIn = SignInOperation()
        (signIn.principal, signIn.realm) = (principal, realm)
        signIn.credential = CommandLineCredential(keytab: keytab, certificate: certificate, readsSecret: passwordStdin)
        signIn.ticket.options = InitialCredentialOptions(lifetime: lifetime?.duration, renewableLifetime: renewable?.duration)
        signIn.ticket.cache = cache.map(CredentialCacheName.init(rawValue:))
        (signIn.remembers, signIn.isForced, signIn.isQuiet) = (remember, force, quiet)
        try await signIn.run(common.engine, armorCache: armorCache)
    }
}

/// Validates the names in sign-in arguments before prompting or contacting a KDC.
enum LoginFiles {
    /// The cache types whose tickets can be used by other processes.
    private static let cacheTypes = ["FILE", "DIR", "KEYRING", "KCM"]

    /// Throws for an armor cache of a type that libkrb5 does not support, because it could contain no ticket.
    static func checkArmorCache(_ name: String?) throws(CommandFailure) {
        guard let name, name.contains(":") else { return }
        let type = String(name.prefix { $0 != ":" })
        guard !cacheTypes.contains(type) else { return }
        let sentence =
            "--armor-cache \(name): the credential cache type \(type) is not supported. Use one of \(cacheTypes.joined(separator: ", "))."
        throw CommandFailure(.usage, sentence)
    }

    /// Throws for a certificate or a key that does not exist, before prompting for its PIN.
    static func checkCertificate(_ identity: String?) throws(CommandFailure) {
        guard let identity, identity != "default" else { return }
        for path in CertificateIdentity.paths(of: identity) where access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno) {
            throw CommandFailure(.failed, "--certificate \(identity): there is no such file: \(path)")
        }
    }
}

/// Reads standard input on the main actor, which may block because it has no other work.
@MainActor
enum StandardInput {
    /// Reads the first line, without its line ending, as a secret.
    static func secretLine() throws -> Secret {
        var line: [UInt8] = []
        line.reserveCapacity(1024)
        defer { line.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } } }
        var byte: UInt8 = 0
        while line.count < 1024 {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 || byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else {
            throw CommandFailure(.notInteractive, "standard input contains no password. Write the password to its first line.")
        }
        guard line.count < 1024 else { throw CommandFailure(.failed, "the password on standard input is longer than 1,023 bytes.") }
        return Secret(bytes: line)
    }
}
