internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import NIOSSL
internal import SignOnPolicy
internal import SystemSupport

extension DiagnosticStep {
    /// Checks the user's certificate, if the profile or krb5.conf names one.
    ///
    /// It asks for no PIN, so it cannot read a protected file, and does not load the module of a card.
    static let certificate = DiagnosticStep.check("certificate") { findings in
        guard let realm = findings.realm, let client = findings.client else { return .nothing }
        let rules = findings.sso.policy.signInRules(of: realm)
        guard rules.allowsCertificate, let identity = await identity(rules, client) else { return .nothing }
        let state = await CertificateState(identity, client)
        guard let fault = state.fault else { return .ok("\(identity)\(state.note).") }
        let isNeeded = rules.prefersCertificate || !rules.allowsPassword
        return isNeeded ? .failed(fault.detail, remedy: fault.remedy) : .warning(fault.detail, remedy: fault.remedy)
    }

    private static func identity(_ rules: SignInRules, _ client: KerberosClient) async -> String? {
        if let own = rules.certificateIdentity { return own }
        return (try? await client.configuredCertificate()) ?? nil
    }
}

/// What can be found out about a certificate without its PIN.
private struct CertificateState {
    /// Why it cannot be used.
    private(set) var fault: (detail: String, remedy: String)?
    /// What is known about a certificate that may be usable: that of a card or of a protected file is read only with its PIN.
    private(set) var note = " is not examined further, because that requires its PIN"

    init(_ identity: String, _ client: KerberosClient) async {
        guard (try? await client.supportsCertificates()) != false else {
            let remedy = "Install libkrb5's plugin: apt install krb5-pkinit"
            fault = ("libkrb5 cannot use the certificate \(identity): its plugin for certificates is missing.", remedy)
            return
        }
        if let module = Self.module(of: identity) {
            guard access(module, F_OK) != 0 else { return }
            let remedy = "Install the card's module, or correct CertificateIdentity in the profile or pkinit_identities in krb5.conf."
            fault = ("the card's module \(module) does not exist.", remedy)
            return
        }
        let paths = CertificateIdentity.paths(of: identity)
        for path in paths where access(path, R_OK) != 0 {
            let remedy =
                "Check the file and its permissions, or correct CertificateIdentity in the profile or pkinit_identities in krb5.conf."
            fault = ("\(path): \(String(cString: strerror(errno))).", remedy)
            return
        }
        guard identity.hasPrefix("FILE:"), let path = paths.first, let certificate = certificate(path) else { return }
        readDates(of: certificate, path)
        if fault == nil { compareKey(with: certificate, path, keyPath: paths.last ?? path) }
    }

    /// The path of the module in `PKCS11:module_name=/path:…` or `PKCS11:/path:…`; nil if libkrb5 looks for the module.
    private static func module(of identity: String) -> String? {
        guard identity.hasPrefix("PKCS11:") else { return nil }
        let words = identity.dropFirst("PKCS11:".count).split(separator: ":")
        let named = words.compactMap { $0.hasPrefix("module_name=") ? $0.dropFirst("module_name=".count) : nil }
        return (named + words).first { $0.hasPrefix("/") }.map(String.init)
    }

    private mutating func certificate(_ path: String) -> NIOSSLCertificate? {
        if let certificate = try? NIOSSLCertificate.fromPEMFile(path).first { return certificate }
        fault = ("\(path) contains no certificate in PEM.", "Convert it: openssl x509 -inform DER -in \(path) -out NEW.pem")
        return nil
    }

    private mutating func readDates(of certificate: NIOSSLCertificate, _ path: String) {
        let (start, end) = (date(certificate.notValidBefore), date(certificate.notValidAfter))
        let remedy = "Get a new certificate from your organization; or check this machine's clock."
        if end < Date() {
            fault = ("the certificate in \(path) expired on \(end.localText).", remedy)
        } else if start > Date() {
            fault = ("the certificate in \(path) is valid only from \(start.localText).", remedy)
        } else {
            note = " is valid until \(end.localTextWithTimeLeft)"
        }
    }

    /// Checks whether a private key is the certificate's. A key that is protected by a PIN is not read.
    private mutating func compareKey(with certificate: NIOSSLCertificate, _ path: String, keyPath: String) {
        guard (try? String(contentsOfFile: keyPath, encoding: .utf8))?.contains("PRIVATE KEY-----") == true else {
            let remedy = "Name the file of the key after the certificate's: FILE:\(path),KEY.pem"
            fault = ("\(keyPath) contains no private key in PEM.", remedy)
            return
        }
        guard let key = try? NIOSSLPrivateKey(file: keyPath, format: .pem) else { return }
        let pair = TLSConfiguration.makeServerConfiguration(certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        // BoringSSL compares the two.
        if (try? NIOSSLContext(configuration: pair)) == nil {
            fault = ("the private key in \(keyPath) belongs to another certificate than \(path).", "Name the key of this certificate.")
        }
    }

    private func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }
}
