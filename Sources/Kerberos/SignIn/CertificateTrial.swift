internal import CKerberos
internal import Synchronization
internal import SystemSupport

extension KerberosClient {
    /// Signs in with a certificate without its PIN, and discards the ticket, to find out whether the certificate could be used.
    ///
    /// A card or file that requires a PIN is found, but not unlocked: the exchange ends as soon as libkrb5 would ask
    /// (`krb5_get_init_creds_opt_set_responder`). No attempt is counted by the card, and no reader with a PIN pad asks.
    ///
    /// - Parameters:
    ///   - identity: The certificate in libkrb5's syntax.
    ///   - deadline: How long to wait for a KDC; nil is as for a sign-in.
    /// - Throws: ``KerberosError``, as for a sign-in; `certificateRefused` if the KDC or this machine refuses the certificate.
    package func tryCertificate(
        _ identity: String,
        for principal: Principal,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> CertificateTrial {
        let inquiry = PINInquiry()
        let source = InitialCredentialSource.certificate(identity, inquiry)
        let options = InitialCredentialOptions(deadline: deadline)
        do throws(KerberosError) {
            _ = try await initialCredential(for: principal, using: source, options: options, inquiry: inquiry)
            return .accepted
        } catch {
            if let protected = inquiry.protected { return protected }
            guard error.code == .certificateRefused, source.isCard, !CertificateRefusal.explains(error) else { throw error }
            guard inquiry.fault == .noCard else { throw error }
            return .noCard
        }
    }
}

extension KerberosError {
    /// Whether the KDC refused a certificate because it belongs to another principal (RFC 4556 section 3.2.2).
    package var isCertificateOfAnotherPrincipal: Bool {
        code == .certificateRefused && Int(libraryCode) == Int(KRB5KDC_ERR_CLIENT_NAME_MISMATCH)
    }
}

/// The result of a sign-in with a certificate, but without its PIN.
package enum CertificateTrial: Sendable, Hashable {
    /// The KDC issued a ticket.
    case accepted
    /// The file requires a PIN.
    case protectedFile
    /// A smart card was found, and requires a PIN. The label may be empty.
    case card(label: String, PINState)
    /// No smart card was found.
    case noCard

    /// What a card tells about its PIN (PKCS #11, `CK_TOKEN_INFO`).
    package enum PINState: Sendable, Hashable {
        /// No wrong PIN was entered since the last right one.
        case usable
        /// A wrong PIN was entered (`CKF_USER_PIN_COUNT_LOW`).
        case fewAttempts
        /// The next wrong PIN locks the card (`CKF_USER_PIN_FINAL_TRY`).
        case lastAttempt
        /// The card accepts no PIN (`CKF_USER_PIN_LOCKED`).
        case locked
    }
}

/// Notes what libkrb5 would ask the PIN of, and ends the exchange.
final class PINInquiry: Prompter {
    private struct State {
        var found: CertificateTrial?
        var fault: CertificateSearch.Fault?
    }

    private let state = Mutex(State())

    /// What requires a PIN; nil if nothing did.
    var protected: CertificateTrial? { state.withLock(\.found) }
    /// Why the exchange found no certificate; nil if it is not known.
    var fault: CertificateSearch.Fault? {
        get { state.withLock(\.fault) }
        set { state.withLock { $0.fault = newValue } }
    }

    /// Refuses every prompt.
    func answers(to request: PromptRequest) throws -> [Secret] { throw PromptRefusal.notInteractive }

    /// Receives libkrb5's questions in place of the prompts. The inquiry must live as long as the exchange.
    func listen(to options: UnsafeMutablePointer<krb5_get_init_creds_opt>?, of context: Context) throws(KerberosError) {
        let data = Unmanaged.passUnretained(self).toOpaque()
        let status = krb5_get_init_creds_opt_set_responder(context.raw, options, Self.responder, data)
        try context.check(status, .signIn, subject: "certificate")
    }

    /// The function for `krb5_get_init_creds_opt_set_responder`; its data is an unretained inquiry.
    private static let responder: krb5_responder_fn = { context, data, questions in
        guard let data else { return 0 }
        var challenge: UnsafeMutablePointer<krb5_responder_pkinit_challenge>?
        let status = krb5_responder_pkinit_get_challenge(context, questions, &challenge)
        defer { krb5_responder_pkinit_challenge_free(context, questions, challenge) }
        guard status == 0, let identity = challenge?.pointee.identities?.pointee?.pointee else { return status }
        let inquiry = Unmanaged<PINInquiry>.fromOpaque(data).takeUnretainedValue()
        inquiry.state.withLock { $0.found = CertificateTrial(identity) }
        return krb5_error_code(truncatingIfNeeded: KRB5_LIBOS_PWDINTR)
    }
}

extension CertificateTrial {
    /// Reads what libkrb5 asks the PIN of, such as `PKCS11:module_name=card.so:slotid=1:token=Staff card`.
    fileprivate init(_ identity: krb5_responder_pkinit_identity) {
        let name = identity.identity.map { String(cString: $0) } ?? ""
        guard name.hasPrefix("PKCS11:") else {
            self = .protectedFile
            return
        }
        // Compares bytes, because a label may begin with a mark that combines with the character before it.
        let label = name.utf8.firstRange(of: ":token=".utf8).map { String(decoding: name.utf8[$0.upperBound...], as: UTF8.self) } ?? ""
        self = .card(label: label.escapedForDisplay(limit: 32), PINState(identity.token_flags))
    }
}

extension CertificateTrial.PINState {
    fileprivate init(_ flags: krb5_int32) {
        if flags & KRB5_RESPONDER_PKINIT_FLAGS_TOKEN_USER_PIN_LOCKED != 0 {
            self = .locked
        } else if flags & KRB5_RESPONDER_PKINIT_FLAGS_TOKEN_USER_PIN_FINAL_TRY != 0 {
            self = .lastAttempt
        } else if flags & KRB5_RESPONDER_PKINIT_FLAGS_TOKEN_USER_PIN_COUNT_LOW != 0 {
            self = .fewAttempts
        } else {
            self = .usable
        }
    }
}
