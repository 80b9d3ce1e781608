internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import NIOSSL
internal import SignOnPolicy
internal import SmartCardReaders
internal import SystemSupport

extension DiagnosticStep {
    /// Checks the user's certificate, if the profile or krb5.conf names one. If a KDC answers, a sign-in with it is tried, up to its PIN,
    /// which is not asked for; the ticket is discarded.
    static let certificate = DiagnosticStep.check("certificate", limit: .seconds(6)) { findings in
        guard let realm = findings.realm, let client = findings.client else { return .nothing }
        let rules = findings.sso.policy.signInRules(of: realm)
        guard rules.allowsCertificate, let identity = await identity(rules, client) else { return .nothing }
        var state = await CertificateState(identity, client)
        if state.fault == nil { await state.trySignIn(CertificateTrialPlan(findings, realm: realm), client) }
        guard let fault = state.fault else { return .ok("\(identity)\(state.note).") }
        let isNeeded = rules.prefersCertificate || !rules.allowsPassword
        return isNeeded && !fault.isWarning
            ? .failed(fault.detail, remedy: fault.remedy) : .warning(fault.detail, remedy: fault.remedy)
    }

    private static func identity(_ rules: SignInRules, _ client: KerberosClient) async -> String? {
        if let own = rules.certificateIdentity { return own }
        return (try? await client.configuredCertificate()) ?? nil
    }
}

/// Whether and for whom a sign-in with the certificate is tried.
private enum CertificateTrialPlan {
    case possible(Subject)
    /// The reason, as a clause.
    case impossible(String)

    struct Subject {
        let principal: Principal
        /// Whether the principal was derived from the user's name, so that the certificate may be right all the same.
        let isGuess: Bool
        /// Whether the user has a ticket, so that the certificate is not needed now: a card may be in the user's pocket.
        let isSignedIn: Bool
        /// Whether the KDC accepts certificates; nil if it did not say so.
        let acceptsCertificates: Bool?
    }

    init(_ findings: DiagnosticFindings, realm: String) async {
        guard let (known, answer) = findings.kdcs.answer else {
            self = .impossible("no KDC answered")
            return
        }
        guard answer.refusal == nil else {
            self = .impossible("the KDC refuses \(known)")
            return
        }
        // The session may be that of another principal, such as an administrator's.
        let own = await firstResult(within: Duration.seconds(2).patient) { [names = findings.sso.names] in
            try? await names.defaultPrincipal(realm: realm)
        }
        let configuration = findings.sso.policy.configurations.first { $0.realm == realm }
        guard configuration != nil || !findings.kdcs.isGuess else {
            self = .impossible("a certificate names its owner, and is sent only to a realm that a profile or a session names")
            return
        }
        let principal = configuration == nil ? known : (own ?? nil) ?? known
        let isNamed = configuration?.principalName != nil || configuration?.userPrincipal != nil
        let isGuess = !isNamed && (findings.kdcs.isGuess || principal != known)
        self = .possible(
            Subject(
                principal: principal,
                isGuess: isGuess,
                isSignedIn: findings.kdcs.isSignedIn,
                acceptsCertificates: answer.acceptsCertificates
            )
        )
    }
}

/// What can be found out about a certificate without its PIN.
private struct CertificateState {
    struct Fault {
        let detail: String
        let remedy: String?
        /// Whether the certificate can be used all the same.
        var isWarning = false
    }

    /// Why it cannot be used.
    private(set) var fault: Fault?
    /// Until when the certificate is valid; nil if it was not read.
    private var validity: String?
    /// What the trial found out.
    private var outcome = ""
    private let identity: String

    /// What is known about a certificate that may be usable. That of a card or of a protected file is read only with its PIN.
    var note: String { (validity.map { "\($0), and" } ?? "") + outcome }

    init(_ identity: String, _ client: KerberosClient) async {
        self.identity = identity
        guard (try? await client.supportsCertificates()) != false else {
            let remedy = "Install libkrb5's plugin: apt install krb5-pkinit"
            fault = Fault(detail: "libkrb5 cannot use the certificate \(identity): its plugin for certificates is missing.", remedy: remedy)
            return
        }
        if let module = Self.module(of: identity) {
            guard access(module, F_OK) != 0 else { return }
            let remedy = "Install the card's module, or correct \(Self.settings)."
            fault = Fault(detail: "the card's module \(module) does not exist.", remedy: remedy)
            return
        }
        let paths = CertificateIdentity.paths(of: identity)
        for path in paths where access(path, R_OK) != 0 {
            let remedy = "Check the file and its permissions, or correct \(Self.settings)."
            fault = Fault(detail: "\(path): \(String(cString: strerror(errno))).", remedy: remedy)
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
        fault = Fault(
            detail: "\(path) contains no certificate in PEM.",
            remedy: "Convert it: openssl x509 -inform DER -in \(path) -out NEW.pem"
        )
        return nil
    }

    private mutating func readDates(of certificate: NIOSSLCertificate, _ path: String) {
        let (start, end) = (date(certificate.notValidBefore), date(certificate.notValidAfter))
        let remedy = "Get a new certificate from your organization; or check this machine's clock."
        if end < Date() {
            fault = Fault(detail: "the certificate in \(path) expired on \(end.localText).", remedy: remedy)
        } else if start > Date() {
            fault = Fault(detail: "the certificate in \(path) is valid only from \(start.localText).", remedy: remedy)
        } else {
            validity = " is valid until \(end.localTextWithTimeLeft)"
        }
    }

    /// Checks whether a private key is the certificate's. A key that is protected by a PIN is not read.
    private mutating func compareKey(with certificate: NIOSSLCertificate, _ path: String, keyPath: String) {
        guard (try? String(contentsOfFile: keyPath, encoding: .utf8))?.contains("PRIVATE KEY-----") == true else {
            let remedy = "Name the file of the key after the certificate's: FILE:\(path),KEY.pem"
            fault = Fault(detail: "\(keyPath) contains no private key in PEM.", remedy: remedy)
            return
        }
        guard let key = try? NIOSSLPrivateKey(file: keyPath, format: .pem) else { return }
        let pair = TLSConfiguration.makeServerConfiguration(certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        // BoringSSL compares the two.
        if (try? NIOSSLContext(configuration: pair)) == nil {
            fault = Fault(
                detail: "the private key in \(keyPath) belongs to another certificate than \(path).",
                remedy: "Name the key of this certificate."
            )
        }
    }

    /// Tries a sign-in up to the certificate's PIN.
    mutating func trySignIn(_ plan: CertificateTrialPlan, _ client: KerberosClient) async {
        let subject: CertificateTrialPlan.Subject
        switch plan {
        case .impossible(let reason):
            outcome = " was not tried at the KDC, because \(reason)"
            return
        case .possible(let known): subject = known
        }
        guard subject.acceptsCertificates != false else {
            let remedy = "Ask the realm's administrator for it (PKINIT at the KDC)."
            fault = Fault(detail: "the KDC offers no sign-in with certificates.", remedy: remedy, isWarning: subject.isSignedIn)
            return
        }
        let limit = Duration.seconds(3).patient
        do throws(KerberosError) {
            await read(try await client.tryCertificate(identity, for: subject.principal, deadline: limit), subject)
        } catch  where error.isCertificateOfAnotherPrincipal {
            let remedy =
                subject.isGuess
                ? "If this is not your principal, specify it: ksso setup --principal NAME@\(subject.principal.realm)"
                : "Correct \(Self.settings)."
            let isWarning = subject.isGuess || subject.isSignedIn
            fault = Fault(detail: "\(identity): \(error.message)", remedy: remedy, isWarning: isWarning)
        } catch  where error.code == .certificateRefused {
            fault = Fault(detail: "\(identity): \(error.message)", remedy: nil, isWarning: subject.isSignedIn)
        } catch  where error.code == .kdcUnreachable && identity.hasPrefix("PKCS11:") {
            // libkrb5 does not say which of the two it waited for.
            let detail = "the module of the smart card or a KDC did not answer within \(quantity(limit.components.seconds, "second"))."
            let remedy = "If all KDCs answer, check the reader and its service: systemctl status pcscd"
            fault = Fault(detail: detail, remedy: remedy, isWarning: subject.isSignedIn)
        } catch {
            fault = Fault(detail: "\(identity) could not be tried: \(error.message)", remedy: nil, isWarning: true)
        }
    }

    private mutating func read(_ trial: CertificateTrial, _ subject: CertificateTrialPlan.Subject) async {
        switch trial {
        case .accepted: outcome = " is accepted by the KDC for \(subject.principal)"
        case .protectedFile: outcome = " was not tried at the KDC, because that requires its PIN"
        case .card(let label, let pin): readCard(label, pin, subject)
        case .noCard:
            let readers = ReaderFinding(await SmartCardService.knownReaders(), settings: Self.settings)
            let detail = "no smart card was found for \(identity). \(readers.sentence)"
            fault = Fault(detail: detail, remedy: readers.remedy, isWarning: subject.isSignedIn)
        }
    }

    private mutating func readCard(_ label: String, _ pin: CertificateTrial.PINState, _ subject: CertificateTrialPlan.Subject) {
        let card = label.isEmpty ? "the smart card" : "the smart card \(label)"
        switch pin {
        case .usable: outcome = ": \(card) was found; its certificate is not examined, because that requires its PIN"
        case .fewAttempts:
            let detail = "\(card) was found, but a wrong PIN was entered, so that it permits fewer attempts."
            fault = Fault(detail: detail, remedy: "Enter the right PIN: ksso login", isWarning: true)
        case .lastAttempt:
            let detail = "\(card) was found, but it locks its PIN after the next wrong one."
            fault = Fault(detail: detail, remedy: "If you do not know the PIN, ask the card's issuer before you try.", isWarning: true)
        case .locked:
            let detail = "\(card) has locked its PIN after too many wrong attempts."
            let remedy = "Unblock it with the PUK, or ask the card's issuer."
            fault = Fault(detail: detail, remedy: remedy, isWarning: subject.isSignedIn)
        }
    }

    private static let settings = "CertificateIdentity in the profile or pkinit_identities in krb5.conf"

    private func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }
}
