internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO

/// The options of `ksso login` that select the credential.
struct CredentialOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Sign in with a key from this keytab, without prompting.", valueName: "file"), completion: .file())
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

    func validate() throws {
        if keytab != nil && passwordStdin { throw ValidationError("--keytab and --password-stdin are mutually exclusive.") }
        if keytab != nil && certificate != nil { throw ValidationError("--keytab and --certificate are mutually exclusive.") }
    }

    /// Throws unless the credential is a password, which can be stored.
    func checkRemembering() throws(ValidationError) {
        guard keytab != nil || certificate != nil else { return }
        throw ValidationError("--remember stores a password, so it cannot be combined with --keytab or --certificate.")
    }

    /// The credential.
    var choice: CredentialChoice { CredentialChoice(keytab: keytab, certificate: certificate, readsSecret: passwordStdin) }
}

/// The credential of a sign-in at the command line.
struct CredentialChoice {
    /// The keytab; nil if another credential signs in.
    var keytab: String?
    /// The certificate; `default` is the one that the profile or krb5.conf names. Nil if another credential signs in.
    var certificate: String?
    /// Whether the password or the PIN is the first line of standard input.
    var readsSecret = false

    /// Whether to sign in even if a valid ticket exists: a key requires no person.
    var replacesSession: Bool { keytab != nil }

    /// Throws for a file that does not exist, before prompting for its PIN.
    func check() throws(CommandFailure) {
        guard let certificate, certificate != "default" else { return }
        for path in CertificateIdentity.paths(of: certificate) where access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno) {
            throw CommandFailure(.failed, "--certificate \(certificate): there is no such file: \(path)")
        }
    }

    /// The source of the sign-in.
    ///
    /// - Parameters:
    ///   - realm: The principal's realm, whose profile decides what a person is asked for.
    ///   - mayAsk: Whether a person may be asked.
    /// - Throws: `CommandFailure`; `notInteractive` if a password is required and no one can be asked for it.
    func source(in realm: String, mayAsk: Bool, _ sso: SingleSignOn) async throws -> InitialCredentialSource {
        if let keytab { return .keytab(keytab) }
        if let certificate {
            let identity = certificate == "default" ? nil : certificate
            if readsSecret { return .certificate(identity, FixedAnswer(try await StandardInput.secretLine())) }
            // A certificate without a PIN works without a prompt.
            return .certificate(identity, mayAsk && Console.hasTerminal ? .terminal : FixedAnswer(nil))
        }
        if readsSecret { return .password(try await StandardInput.secretLine()) }
        guard mayAsk else {
            throw CommandFailure(
                .notInteractive,
                "a password is required, and --quiet disables prompting. Use --password-stdin or --keytab."
            )
        }
        guard Console.hasTerminal else {
            let message = "a password is required, and there is no terminal for the prompt. Use --password-stdin or --keytab."
            throw CommandFailure(.notInteractive, message)
        }
        return try await sso.interactiveSource(realm: realm, prompter: .terminal)
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
