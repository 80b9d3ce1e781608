internal import Foundation
public import Kerberos
internal import SignOnPolicy

extension KerberosExtension {
    /// The source of a person's sign-in to a realm. It is the certificate if one is configured and the profile prefers certificates or
    /// allows no passwords; otherwise the prompter answers what libkrb5 asks.
    public func interactiveSource(
        realm: String?,
        prompter: any Prompter
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard let realm = if let realm { realm } else { try await defaultRealm() } else { return .prompter(prompter) }
        let rules = policy.signInRules(of: realm)
        guard rules.allowsCertificate, rules.prefersCertificate || !rules.allowsPassword else { return .prompter(prompter) }
        guard try await certificate(of: realm) != nil else { return .prompter(prompter) }
        return .certificate(nil, prompter)
    }

    /// The certificate of a realm: the profile's, else krb5.conf's.
    func certificate(of realm: String) async throws(KerberosError) -> String? {
        if let own = policy.signInRules(of: realm).certificateIdentity { return own }
        return try await clients.client(for: realm).configuredCertificate()
    }

    /// Whether a certificate may be used that an agent's client or a mark in a cache names. Allowed are files with absolute paths, a card
    /// that libkrb5's own module reads, and what the profile or krb5.conf names.
    func mayUse(certificate identity: String, of realm: String) async throws(KerberosError) -> Bool {
        if CertificateIdentity.isHarmless(identity) { return true }
        // Compares bytes, because strings that Swift considers equal may name different files.
        return try await certificate(of: realm)?.utf8.elementsEqual(identity.utf8) == true
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

    /// Checks that a client of the agent may sign in a principal with a certificate.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` if the agent would run a file that the client names.
    package func check(certificate identity: String, of name: String?, realm: String?) async throws(KerberosError) {
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        try await check(certificate: identity, of: principal.realm)
    }

    /// Returns the source as the profile allows it. A certificate source without an identity gets the realm's certificate.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow this kind of sign-in; `certificateRefused` if
    ///   no certificate is configured.
    func permitted(_ source: InitialCredentialSource, realm: String) async throws(KerberosError) -> InitialCredentialSource {
        let rules = policy.signInRules(of: realm)
        func refusal(_ key: String, _ advice: String) -> KerberosError {
            KerberosError(.policyRefused, subject: realm, message: "the profile of the realm sets \(key) to false. \(advice)")
        }
        switch source {
        case .password, .prompter:
            guard rules.allowsPassword else {
                throw refusal("allowPassword", "Sign in with a certificate: ksso login --certificate IDENTITY")
            }
        case .certificate(let identity, let prompter):
            guard rules.allowsCertificate else { throw refusal("allowSmartCard", "Sign in with the password: ksso login") }
            guard identity == nil else { break }
            guard let own = try await certificate(of: realm) else {
                let message = "no certificate is configured. Set CertificateIdentity in the profile or pkinit_identities in krb5.conf."
                throw KerberosError(.certificateRefused, subject: realm, message: message)
            }
            return .certificate(own, prompter)
        case .keytab, .clientKeytab: break
        }
        return source
    }
}

extension DecisionPolicy {
    /// The combined sign-in rules of a realm's profiles. What one profile forbids is forbidden.
    func signInRules(of realm: String) -> SignInRules {
        let rules = configurations.filter { $0.realm == realm }.map(\.signIn)
        return SignInRules(
            allowsPassword: rules.allSatisfy(\.allowsPassword),
            allowsCertificate: rules.allSatisfy(\.allowsCertificate),
            prefersCertificate: rules.contains(where: \.prefersCertificate),
            certificateIdentity: rules.lazy.compactMap(\.certificateIdentity).first,
            issuerFilter: rules.lazy.compactMap(\.issuerFilter).first,
            armorCache: rules.lazy.compactMap(\.armorCache).first,
            userNameLabel: rules.lazy.compactMap(\.userNameLabel).first,
            helpText: rules.lazy.compactMap(\.helpText).first,
            allowsAutomaticLogin: rules.allSatisfy(\.allowsAutomaticLogin)
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

    /// Whether no path in the identity depends on the working directory.
    package static func isAbsolute(_ identity: String) -> Bool { parts(identity)?.paths.allSatisfy { $0.utf8.first == slash } ?? true }

    /// Whether the identity names files with absolute paths, or a card that libkrb5's own module reads. `PKCS11:any.so` makes libkrb5 run
    /// that file, and `ENV:name` can stand for any identity, so neither is accepted from a client or a cache.
    static func isHarmless(_ identity: String) -> Bool {
        // libkrb5 stops reading at a NUL byte, so it would use another identity than the one that was checked.
        guard !identity.utf8.contains(0) else { return false }
        if let (_, paths) = parts(identity) { return !paths.isEmpty && isAbsolute(identity) }
        let words = identity.utf8.split(separator: colon, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard words.first == "PKCS11", identity.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
        let options = ["slotid=", "token=", "certid=", "certlabel="]
        return words.dropFirst() == [""] || words.dropFirst().allSatisfy { word in options.contains { word.hasPrefix($0) } }
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
