internal import Foundation
internal import Kerberos
internal import SignOnPolicy

/// A certificate or smart card. Its ticket is renewed; when that is no longer possible, it is reacquired with the certificate, which may
/// require a PIN.
struct CertificateCredential: SignInCredential {
    static let name = "certificate"
    static let reacquisition = Session.Reacquisition.certificate
    /// The mark with the certificate's identity.
    private static let mark = "ksso_certificate"
    /// The certificate as libkrb5 names it, with absolute paths; empty is the one that the profile or krb5.conf names.
    private let identity: String
    /// The same as a caller gave it; nil is the configured one.
    private let given: String?

    /// Creates the credential with an identity from a mark.
    init(identity: String) {
        self.identity = identity
        given = identity.isEmpty ? nil : identity
    }

    /// Creates the credential with an identity that a caller gave; nil is the configured one.
    init(given identity: String?) {
        self.identity = identity.map(CertificateIdentity.absolute) ?? ""
        given = identity
    }

    init(marks: [String: String]) { self.init(identity: marks[Self.mark] ?? "") }

    var text: String { "ksso with the certificate \(identity.isEmpty ? "from the configuration" : identity)" }
    var acquisition: Session.Acquisition { .certificate(identity) }
    var marks: [String: String] { [Self.mark: identity] }
    var loginArguments: String { " --certificate \(given ?? "default")" }

    func source(askedBy prompter: any Prompter) -> InitialCredentialSource { .certificate(given, prompter) }

    func checkNaming(in realm: String, by permissions: SignInPermissions) async throws(KerberosError) {
        if let given { try await permissions.check(certificate: given, of: realm) }
    }

    /// Returns the source as the profiles permit it. A source without an identity gets the realm's certificate.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if a profile does not allow certificates; `certificateRefused` if none is configured.
    func permitted(
        _ source: InitialCredentialSource,
        in realm: String,
        by permissions: SignInPermissions
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard permissions.policy.signInRules(of: realm).allowsCertificate else {
            throw .forbidden("allowSmartCard", in: realm, "Sign in with the password: ksso login")
        }
        guard case .certificate(nil, let prompter) = source else { return source }
        guard let own = try await permissions.certificate(of: realm) else {
            let message = "no certificate is configured. Set CertificateIdentity in the profile or pkinit_identities in krb5.conf."
            throw KerberosError(.certificateRefused, subject: realm, message: message)
        }
        return .certificate(own, prompter)
    }

    /// Requests a ticket. Concurrent requests are not shared, because each has its own prompter.
    func ticket(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        by exchange: InitialExchange
    ) async throws(KerberosError) -> SignInTicket {
        let client = exchange.promptingClient(for: principal.realm)
        let labelled = source.mapPrompter { exchange.labelled($0, in: principal.realm) }
        let ticket = try await client.initialCredential(for: principal, using: labelled, options: options)
        return SignInTicket(ticket, clockOffset: client.learnedClockOffset)
    }

    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session {
        do throws(KerberosError) {
            // When the ticket expires at its renewable limit, renewing it does not extend it. The certificate can acquire one that lasts
            // longer.
            if let limit = session.renewUntil, limit <= session.ticketExpires { throw .needsPerson(session.principal) }
            return try await renewal.renew(session)
        } catch  where error.isBeyondRenewal {
            return try await renewal.tickets.replace(in: session, notesPasswordExpiry: true) { _ async throws(KerberosError) in
                try await newTicket(for: session, with: renewal.exchange, prompter)
            }
        }
    }

    private func newTicket(
        for session: Session,
        with exchange: InitialExchange,
        _ prompter: (any Prompter)?
    ) async throws(KerberosError) -> SignInTicket {
        let permissions = exchange.permissions
        let mayBeUsed = if identity.isEmpty { true } else { try await permissions.mayUse(certificate: identity, of: session.realm) }
        guard mayBeUsed else { throw .notUsedAgain(session.principal, identity) }
        let source = InitialCredentialSource.certificate(identity.isEmpty ? nil : identity, prompter ?? FixedAnswer(nil))
        let permitted = try await permissions.permitted(source, realm: session.realm)
        do throws(KerberosError) {
            return try await exchange.ticket(for: session.principal, using: permitted)
        } catch  where error.code == .notInteractive {
            throw .needsPIN(session.principal, identity)
        }
    }
}

extension InitialCredentialSource {
    /// The same certificate with another prompter. Other sources are returned unchanged.
    fileprivate func mapPrompter(_ change: (any Prompter) -> any Prompter) -> InitialCredentialSource {
        if case .certificate(let identity, let prompter) = self { .certificate(identity, change(prompter)) } else { self }
    }
}

extension SignInPermissions {
    /// The certificate of a realm: the profile's, else krb5.conf's.
    func certificate(of realm: String) async throws(KerberosError) -> String? {
        if let own = policy.signInRules(of: realm).certificateIdentity { return own }
        return try await clients.client(for: realm).configuredCertificate()
    }

    /// Whether a certificate may be used that an agent's client or a mark in a cache names. Allowed are files with absolute paths, a card
    /// that libkrb5's own module reads, and what the profile or krb5.conf names, also with a selected certificate of that card.
    func mayUse(certificate identity: String, of realm: String) async throws(KerberosError) -> Bool {
        if CertificateIdentity.isHarmless(identity) { return true }
        return try await certificate(of: realm).map { CertificateIdentity.isSelection(identity, of: $0) } ?? false
    }

    /// Checks that a certificate may be used that an agent's client or a mark in a cache names.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` if it may not be used.
    func check(certificate identity: String, of realm: String) async throws(KerberosError) {
        guard try await !mayUse(certificate: identity, of: realm) else { return }
        let message =
            "the certificate \(identity) cannot be used here. Only FILE:, PKCS12: and DIR: with absolute paths, PKCS11: without a "
            + "module, and the certificates in "
            + "CertificateIdentity of the profile or pkinit_identities of krb5.conf can. Use it with: ksso login --certificate \(identity)"
        throw KerberosError(.certificateRefused, subject: realm, message: message)
    }
}

extension KerberosError {
    /// The ticket cannot be reacquired without the certificate's PIN.
    fileprivate static func needsPIN(_ principal: Principal, _ identity: String) -> KerberosError {
        let name = identity.isEmpty ? "default" : identity
        return KerberosError(
            .notInteractive,
            subject: principal.description,
            message: "the ticket cannot be renewed, and the certificate requires its PIN, but no prompt is available. "
                + "Sign in at a terminal: ksso login \(principal) --certificate \(name)"
        )
    }

    /// The ticket cannot be reacquired with a certificate that only the cache names.
    fileprivate static func notUsedAgain(_ principal: Principal, _ identity: String) -> KerberosError {
        KerberosError(
            .notInteractive,
            subject: principal.description,
            message:
                "the ticket cannot be renewed, and the certificate \(identity) cannot be reused. Only files with absolute paths, PKCS11: "
                + "without a module, and the certificates in CertificateIdentity of the profile or pkinit_identities of krb5.conf can. "
                + "Sign in with: ksso login \(principal) --certificate IDENTITY"
        )
    }
}

/// Parses the identities of libkrb5 (`X509_user_identity`): `FILE:cert.pem,key.pem`, `PKCS12:me.p12`, `DIR:certs`, `PKCS11:…`, `ENV:name`.
package enum CertificateIdentity {
    private static let fileTypes = ["FILE", "PKCS12", "DIR"]

    /// Returns the identity with absolute file paths, because it may be used later in another working directory.
    package static func absolute(_ identity: String) -> String {
        guard let (type, paths) = parts(identity) else { return identity }
        return (type.map { "\($0):" } ?? "") + paths.map { URL(filePath: $0).path }.joined(separator: ",")
    }

    /// The paths of the files in the identity; none for a card or a variable.
    package static func paths(of identity: String) -> [String] { parts(identity)?.paths ?? [] }

    /// Whether no path in the identity depends on the working directory.
    package static func isAbsolute(_ identity: String) -> Bool { parts(identity)?.paths.allSatisfy { $0.utf8.first == slash } ?? true }

    /// Whether the identity names files with absolute paths, or a card that libkrb5's own module reads. `PKCS11:any.so` makes libkrb5 run
    /// that file, and `ENV:name` can stand for any identity, so neither is accepted from a client or a cache.
    static func isHarmless(_ identity: String) -> Bool {
        // libkrb5 stops reading at a NUL byte, so it would use another identity than the one that was checked.
        guard !identity.utf8.contains(0) else { return false }
        if let (_, paths) = parts(identity) { return !paths.isEmpty && isAbsolute(identity) }
        guard InitialCredentialSource.isCard(identity) else { return false }
        let rest = identity.utf8.dropFirst("PKCS11".utf8.count)
        return rest.elementsEqual([colon]) || areOptions(rest, ["slotid=", "token=", "certid=", "certlabel="])
    }

    /// Whether the identity is a configured one, or selects a certificate of a configured card that the configuration leaves open.
    static func isSelection(_ identity: String, of configured: String) -> Bool {
        // Compares bytes, because strings that Swift considers equal may name different files.
        guard identity.utf8.starts(with: configured.utf8) else { return false }
        let rest = identity.utf8.dropFirst(configured.utf8.count)
        if rest.isEmpty { return true }
        // Of several options of one kind, libkrb5 takes the last. Another card or slot may not replace the configured one.
        let isOpen = InitialCredentialSource.isCard(configured) && configured.utf8.firstRange(of: ":cert".utf8) == nil
        return isOpen && areOptions(rest, ["certid=", "certlabel="])
    }

    /// Whether a text consists of these options, each after a colon.
    private static func areOptions(_ text: Substring.UTF8View, _ names: [String]) -> Bool {
        guard text.first == colon, text.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
        return text.dropFirst().split(separator: colon, omittingEmptySubsequences: false).allSatisfy { word in
            names.contains { word.starts(with: $0.utf8) }
        }
    }

    // libkrb5 compares bytes. Swift combines a colon with some preceding characters, such as U+0600, into one character.
    private static let colon = UInt8(ascii: ":")
    private static let slash = UInt8(ascii: "/")
    private static let comma = UInt8(ascii: ",")

    /// The type and the paths; nil if the identity names no files. Without a type, the identity is a file.
    private static func parts(_ identity: String) -> (type: String?, paths: [String])? {
        let bytes = identity.utf8
        let type = bytes.prefix { $0 != colon && $0 != slash && $0 != comma }
        let hasType = bytes.dropFirst(type.count).first == colon
        let name = hasType ? String(Substring(type)) : nil
        guard name.map(fileTypes.contains) ?? true else { return nil }
        let rest = hasType ? bytes.dropFirst(type.count + 1) : bytes[...]
        // A FILE identity is a certificate and an optional key. In any other type a comma is part of the path (krb5.conf(5), "PKINIT
        // options").
        let isPair = name == nil || name == "FILE"
        let paths = isPair ? rest.split(separator: comma) : rest.isEmpty ? [] : [rest]
        return (name, paths.map { String(Substring($0)) })
    }
}
