internal import Foundation
internal import HTTPNegotiate
public import Kerberos

extension KerberosExtension {
    /// How a person signs in to a realm: with the certificate where the profile begins with it and one is configured, or allows nothing
    /// else; else by what libkrb5 asks.
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

    /// The certificate that the profile names for a realm, else krb5.conf.
    func certificate(of realm: String) async throws(KerberosError) -> String? {
        if let own = policy.signInRules(of: realm).certificateIdentity { return own }
        return try await clients.client(for: realm).configuredCertificate()
    }

    /// Whether a certificate may be used that somebody else names: a client of the agent, or a mark in a cache. It is files from the root
    /// on, a card by libkrb5's own module, or what the profile or krb5.conf names.
    func mayUse(certificate identity: String, of realm: String) async throws(KerberosError) -> Bool {
        if CertificateIdentity.isHarmless(identity) { return true }
        // Byte by byte: what looks the same may be another file.
        return try await certificate(of: realm)?.utf8.elementsEqual(identity.utf8) == true
    }

    /// Throws unless a certificate may be used that somebody else names.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` where it may not.
    func check(certificate identity: String, of realm: String) async throws(KerberosError) {
        guard try await !mayUse(certificate: identity, of: realm) else { return }
        let message =
            "the certificate \(identity) is not used here: FILE:, PKCS12: and DIR: with absolute paths are, PKCS11: without a module, and what "
            + "CertificateIdentity of the profile or pkinit_identities of krb5.conf names. Use it with: ksso login --certificate \(identity)"
        throw KerberosError(.certificateRefused, subject: realm, message: message)
    }

    /// Throws unless a client of the agent may have a principal sign in with a certificate.
    ///
    /// - Throws: `KerberosError`; `certificateRefused` where the agent would run a file that the client names.
    package func check(certificate identity: String, of name: String?, realm: String?) async throws(KerberosError) {
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        try await check(certificate: identity, of: principal.realm)
    }

    /// A source as the profile lets it be used: with the realm's certificate where none is named.
    ///
    /// - Throws: `KerberosError`; `policyRefused` where the profile of the realm allows no sign-in of this kind.
    func permitted(_ source: InitialCredentialSource, realm: String) async throws(KerberosError) -> InitialCredentialSource {
        let rules = policy.signInRules(of: realm)
        func refusal(_ key: String, _ advice: String) -> KerberosError {
            KerberosError(.policyRefused, subject: realm, message: "the profile of the realm says \(key): false. \(advice)")
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
                let message = "no certificate is configured: neither CertificateIdentity of the profile nor pkinit_identities of krb5.conf."
                throw KerberosError(.certificateRefused, subject: realm, message: message)
            }
            return .certificate(own, prompter)
        case .keytab, .clientKeytab: break
        }
        return source
    }
}

extension DecisionPolicy {
    /// What the profiles say together of signing in to a realm: what one of them forbids is forbidden.
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

/// What libkrb5 calls an identity (`X509_user_identity`): `FILE:cert.pem,key.pem`, `PKCS12:me.p12`, `DIR:certs`, `PKCS11:…`, `ENV:name`.
package enum CertificateIdentity {
    private static let fileTypes = ["FILE", "PKCS12", "DIR"]

    /// The same with its files' paths from the root on: whoever uses it later may run in another folder.
    package static func absolute(_ identity: String) -> String {
        guard let (type, paths) = parts(identity) else { return identity }
        return (type.map { "\($0):" } ?? "") + paths.map { URL(filePath: $0).path }.joined(separator: ",")
    }

    /// Whether no path in it depends on the folder that the process runs in.
    package static func isAbsolute(_ identity: String) -> Bool { parts(identity)?.paths.allSatisfy { $0.utf8.first == slash } ?? true }

    /// Whether it names files from the root on, or a card by libkrb5's own module. `PKCS11:any.so` has libkrb5 run that file, `ENV:name`
    /// any of these: neither is for somebody else to say.
    static func isHarmless(_ identity: String) -> Bool {
        // Where C ends a string, another one ends than was looked at.
        guard !identity.utf8.contains(0) else { return false }
        if let (_, paths) = parts(identity) { return !paths.isEmpty && isAbsolute(identity) }
        let words = identity.utf8.split(separator: colon, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard words.first == "PKCS11", identity.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
        let options = ["slotid=", "token=", "certid=", "certlabel="]
        return words.dropFirst() == [""] || words.dropFirst().allSatisfy { word in options.contains { word.hasPrefix($0) } }
    }

    // libkrb5 goes by bytes. To Swift a colon behind some characters, such as U+0600, is no colon.
    private static let colon = UInt8(ascii: ":")
    private static let slash = UInt8(ascii: "/")
    private static let comma = UInt8(ascii: ",")

    /// Nil where it names no files. Without a type it is a file's.
    private static func parts(_ identity: String) -> (type: String?, paths: [String])? {
        let bytes = identity.utf8
        let type = bytes.prefix { $0 != colon && $0 != slash && $0 != comma }
        let hasType = bytes.dropFirst(type.count).first == colon
        let name = hasType ? String(Substring(type)) : nil
        guard name.map(fileTypes.contains) ?? true else { return nil }
        let rest = hasType ? bytes.dropFirst(type.count + 1) : bytes[...]
        // Of a certificate and its key, which may be left out; any other path is one, whatever is in its name (krb5.conf(5), "PKINIT
        // options").
        let isPair = name == nil || name == "FILE"
        let paths = isPair ? rest.split(separator: comma) : rest.isEmpty ? [] : [rest]
        return (name, paths.map { String(Substring($0)) })
    }
}
