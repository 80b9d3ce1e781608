internal import CKerberos
public import SystemSupport

internal import struct Foundation.Date

extension KerberosClient {
    /// Requests a ticket-granting ticket from the KDC (AS exchange, RFC 4120 section 3.1), without storing it.
    ///
    /// A wrong password is sent exactly once, to one KDC: the exchange uses `krb5_init_creds_get`, which, unlike
    /// `krb5_get_init_creds_password`, does not retry with the realm's primary KDC after a refusal.
    ///
    /// - Throws: ``KerberosError``, with codes such as `wrongPassword`, `unknownPrincipal`, `passwordExpired`, `accountLocked`,
    ///   `kdcUnreachable`, `clockSkew`, `keytabUnusable`, `keytabEntryMissing`, `certificateRefused`, `notInteractive`, `canceled`.
    public func initialCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Credential {
        try await initialCredential(for: principal, using: source, options: options, inquiry: nil)
    }

    /// The same with an inquiry that receives libkrb5's questions about a certificate.
    func initialCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        inquiry: PINInquiry?
    ) async throws(KerberosError) -> Credential {
        guard case .certificate(let identity, let prompter) = source else {
            return try await requestCredential(for: principal, using: source, options: options, inquiry: inquiry)
        }
        let (subject, deadline) = (principal.displayName, options.deadline)
        return try await withCardTurn(for: source, subject: subject, deadline: deadline) { turn throws(KerberosError) in
            try await Self.repeatingUnreadableReply(prompter) { prompter throws(KerberosError) in
                try await forCertificate(identity, of: principal).requestCredential(
                    for: principal,
                    using: .certificate(identity, prompter),
                    options: options,
                    inquiry: inquiry,
                    turn: turn
                )
            }
        }
    }

    private func requestCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        inquiry: PINInquiry?,
        turn: CardTurn? = nil
    ) async throws(KerberosError) -> Credential {
        try await performWithArmor(subject: principal.displayName, deadline: options.deadline) {
            context,
            armor,
            deadline throws(KerberosError) in
            var options = options
            // A domain takes names in any case; the session is known by the account's own name. A key is found by the name in its keytab,
            // so that its session keeps that name.
            let usesKey =
                switch source {
                case .keytab, .clientKeytab: true
                default: false
                }
            options.isCanonical = principal.isEnterpriseName || !usesKey && self.hasLocatedControllers
            // The turn lasts as long as libkrb5's call.
            defer { withExtendedLifetime(turn) {} }
            return try context.initialCredential(
                for: principal,
                using: source,
                options: options,
                inquiry: inquiry,
                armor: armor,
                deadline: deadline
            )
        }
    }

    /// The principal of a keytab's first entry, for services that are configured without one.
    public func firstPrincipal(inKeytab source: InitialCredentialSource) async throws(KerberosError) -> Principal {
        try await perform { context throws(KerberosError) in
            try context.withKeytab(source, subject: "keytab") { keytab throws(KerberosError) in
                try context.firstPrincipal(in: keytab)
            }
        }
    }

    /// Renews a renewable ticket-granting ticket of a cache (`krb5_get_renewed_creds`), without changing the cache.
    ///
    /// - Throws: ``KerberosError``; after `notRenewable`, `ticketExpired` or `ticketRefused` a new sign-in is required. `cacheUnusable` if
    ///   the cache's server does not answer.
    public func renewedCredential(
        for principal: Principal,
        in cache: CredentialCacheName,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> Credential {
        let draft = try await draft(of: cache)
        return try await performOnNetwork(subject: principal.displayName, deadline: deadline) { context, _ throws(KerberosError) in
            try context.withDraft(draft) { raw throws(KerberosError) in
                try principal.withRaw(in: context) { client throws(KerberosError) in
                    var credential = krb5_creds()
                    let status = krb5_get_renewed_creds(context.raw, &credential, client, raw, nil)
                    try context.check(status, .renew, subject: principal.displayName, client: principal.description)
                    defer { krb5_free_cred_contents(context.raw, &credential) }
                    return try Credential(copying: &credential, context: context)
                }
            }
        }
    }
}

extension Context {
    /// Runs an AS exchange.
    ///
    /// - Parameters:
    ///   - service: A service of the principal's realm; nil is the ticket-granting service.
    ///   - inquiry: Receives libkrb5's questions about a certificate, before they become prompts.
    ///   - armor: The armor ticket; nil sends the request without armor.
    func initialCredential(
        for principal: Principal,
        using source: InitialCredentialSource,
        service: String? = nil,
        options: InitialCredentialOptions,
        inquiry: PINInquiry? = nil,
        armor: DraftCache?,
        deadline: CallDeadline
    ) throws(KerberosError) -> Credential {
        try withClock(of: armor) { () throws(KerberosError) in
            try exchange(
                for: principal,
                using: source,
                service: service,
                options: options,
                inquiry: inquiry,
                armor: armor,
                deadline: deadline
            )
        }
    }

    private func exchange(
        for principal: Principal,
        using source: InitialCredentialSource,
        service: String?,
        options: InitialCredentialOptions,
        inquiry: PINInquiry?,
        armor: DraftCache?,
        deadline: CallDeadline
    ) throws(KerberosError) -> Credential {
        let raw = raw
        return try principal.withRaw(in: self) { client throws(KerberosError) in
            var requested: UnsafeMutablePointer<krb5_get_init_creds_opt>?
            try check(krb5_get_init_creds_opt_alloc(raw, &requested), .signIn, subject: principal.displayName)
            defer { krb5_get_init_creds_opt_free(raw, requested) }
            options.apply(to: requested)
            // Otherwise the ticket would be for the enterprise name itself, which no other program knows.
            if principal.isEnterpriseName || options.isCanonical { krb5_get_init_creds_opt_set_canonicalize(requested, 1) }
            try protect(requested, with: armor)
            let expiry = PasswordExpiry()
            let note = Unmanaged.passUnretained(expiry).toOpaque()
            try inquiry?.listen(to: requested, of: self)
            let noted = krb5_get_init_creds_opt_set_expire_callback(raw, requested, PasswordExpiry.callback, note)
            try check(noted, .signIn, subject: principal.displayName)

            var prompter: (any Prompter)?
            var isForCertificate = false
            switch source {
            case .prompter(let given): prompter = given
            case .certificate(let identity, let given):
                (prompter, isForCertificate) = (given, true)
                try use(certificate: identity, for: principal, requested)
            case .password, .keytab, .clientKeytab: break
            }
            let bridge = PrompterBridge(
                principal: principal,
                prompter: prompter,
                isForCertificate: isForCertificate,
                deadline: deadline
            )
            return try withExtendedLifetime((bridge, expiry)) { () throws(KerberosError) in
                var exchange: krb5_init_creds_context?
                let data = Unmanaged.passUnretained(bridge).toOpaque()
                defer { krb5_init_creds_free(raw, exchange) }
                do throws(KerberosError) {
                    let status = krb5_init_creds_init(raw, client, PrompterBridge.callback, data, 0, requested, &exchange)
                    try check(status, .signIn, subject: principal.displayName)
                    if let service { try check(krb5_init_creds_set_service(raw, exchange, service), .signIn, subject: service) }
                    var credential = try finish(exchange, for: principal, using: source)
                    try credential.client.checkAnswer(to: principal, from: replies?.lastRealm)
                    credential.passwordExpires = expiry.date(at: credential.times.authenticated)
                    return credential
                } catch {
                    // PKINIT was the only mechanism.
                    let isOfCertificate = isForCertificate && [.preauthenticationRefused, .wrongPassword].contains(error.code)
                    if isOfCertificate || bridge.refusal == .certificateRefused, let refusalOfKDC {
                        throw refusalOfKDC.error(subject: principal.displayName)
                    }
                    if isForCertificate, hasUnreadableReply, replies?.lastIsTicket != false {
                        throw .unreadableReply(subject: principal.displayName)
                    }
                    inquiry?.fault = faultOfCertificates
                    let reason = reasonOfCertificate(error, source, wasAsked: bridge.hasAnswered)
                    // Without a prompter, a mechanism that needed one has failed; the KDC may then have refused the given password or key.
                    if let refusal = bridge.refusal, prompter != nil || !error.isRefusalOfKey {
                        throw error.because(refusal, message: bridge.refusalMessage ?? (refusal == .certificateRefused ? reason : nil))
                    }
                    if isOfCertificate { throw error.because(.certificateRefused, message: reason) }
                    guard let armorCache, isOfArmor(error) else { throw error }
                    throw error.ofArmor(armorCache)
                }
            }
        }
    }

    /// Why no certificate signed in, if the KDC did not say anything else; nil if it did, or if nothing is known.
    private func reasonOfCertificate(_ error: KerberosError, _ source: InitialCredentialSource, wasAsked: Bool) -> String? {
        guard case .certificate = source, !CertificateRefusal.explains(error) else { return nil }
        if let fault = faultOfCertificates { return fault.sentence(isCard: source.isCard, hasFilter: filtersIssuers) }
        return source.isCard ? CertificateRefusal.ofCard(wasAsked: wasAsked) : nil
    }

    private func use(
        certificate identity: String?,
        for principal: Principal,
        _ options: UnsafeMutablePointer<krb5_get_init_creds_opt>?
    ) throws(KerberosError) {
        guard LibraryPlugin.pkinit.isAvailable(in: self) else {
            let message = "signing in with a certificate requires libkrb5's PKINIT plugin: install krb5-pkinit."
            throw KerberosError(.certificateRefused, subject: principal.displayName, message: message)
        }
        // The plugin takes a certificate once for a context, and keeps it.
        guard let identity, identity != certificateIdentity else { return }
        let status = krb5_get_init_creds_opt_set_pa(raw, options, "X509_user_identity", identity)
        try check(status, .signIn, subject: principal.displayName)
        certificateIdentity = identity
    }

    private func finish(
        _ exchange: krb5_init_creds_context?,
        for principal: Principal,
        using source: InitialCredentialSource
    ) throws(KerberosError) -> Credential {
        let raw = raw
        switch source {
        case .password(let password):
            // A C string would end there, so a different password would be sent.
            guard !password.withUnsafeBytes({ $0.contains(0) }) else {
                throw KerberosError(.wrongPassword, subject: principal.displayName, message: "a password cannot contain a NUL byte.")
            }
            let status = password.withCString { krb5_init_creds_set_password(raw, exchange, $0) }
            try check(status, .signIn, subject: principal.displayName)
            try run(exchange, .signIn, subject: principal.displayName)
        case .prompter, .certificate:
            try run(exchange, .signIn, subject: principal.displayName)
        case .keytab, .clientKeytab:
            try withKeytab(source, subject: principal.displayName) { keytab throws(KerberosError) in
                let status = krb5_init_creds_set_keytab(raw, exchange, keytab)
                try check(status, .signInWithKeytab, subject: principal.displayName)
                // The keytab must outlive the exchange, which reads it.
                try run(exchange, .signInWithKeytab, subject: principal.displayName)
            }
        }
        var credential = krb5_creds()
        try check(krb5_init_creds_get_creds(raw, exchange, &credential), .signIn, subject: principal.displayName)
        defer { krb5_free_cred_contents(raw, &credential) }
        return try Credential(copying: &credential, context: self)
    }

    private func run(
        _ exchange: krb5_init_creds_context?,
        _ operation: KerberosError.Operation,
        subject: String
    ) throws(KerberosError) {
        let status = krb5_init_creds_get(raw, exchange)
        guard status != 0 else { return }
        let (text, account) = refusal(exchange, of: status)
        let error = KerberosError.library(status, operation, subject: subject, detail: text, context: raw)
        throw account.map { error.because($0.code, message: $0.sentence) } ?? error
    }

    /// The KDC's text (`e-text`, RFC 4120 section 5.9.1) for an error, because MIT's KDC gives more detail there than in the code, and what
    /// a domain controller says about the account.
    ///
    /// - Parameter status: The final status of the exchange. An earlier KDC error, such as the request for pre-authentication, is not its
    ///   cause.
    private func refusal(_ exchange: krb5_init_creds_context?, of status: krb5_error_code) -> (text: String?, account: AccountRefusal?) {
        var refusal: UnsafeMutablePointer<krb5_error>?
        guard krb5_init_creds_get_error(raw, exchange, &refusal) == 0, let refusal else { return (nil, nil) }
        defer { krb5_free_error(raw, refusal) }
        guard Int(KRB5KDC_ERR_NONE) + Int(refusal.pointee.error) == Int(status) else { return (nil, nil) }
        let account = AccountRefusal(data: Self.bytes(refusal.pointee.e_data))
        let words = Self.bytes(refusal.pointee.text).prefix { $0 != 0 }
        return (words.isEmpty ? nil : String(decoding: words, as: UTF8.self).escapedForDisplay(limit: 200), account)
    }

    private static func bytes(_ data: krb5_data) -> [UInt8] {
        data.data.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(data.length))) } ?? []
    }
}

extension KerberosError {
    /// Whether the KDC has checked a password or a key, and refused it.
    fileprivate var isRefusalOfKey: Bool {
        [Int(KRB5KDC_ERR_PREAUTH_FAILED), Int(KRB5KRB_AP_ERR_BAD_INTEGRITY)].contains(Int(libraryCode))
    }
}

extension Principal {
    /// Checks the client of a ticket. A KDC replaces a name only by one of its own realm (RFC 6806 section 7), which is the requested one,
    /// or one that another KDC referred to. libkrb5 compares the names only if it did not request a canonical one.
    ///
    /// - Parameter realm: The realm whose KDC sent the last reply.
    func checkAnswer(to name: Principal, from realm: String?) throws(KerberosError) {
        let issuer = realm ?? name.realm
        // A domain's realm may be configured in another case.
        guard self.realm.uppercased() != issuer.uppercased() else { return }
        let message =
            "the KDC of \(issuer) issued a ticket for \(description), which is in another realm; the ticket was discarded. Sign in with "
            + "the principal of the account, and tell your administrator."
        throw KerberosError(.policyRefused, subject: name.displayName, message: message)
    }
}

extension InitialCredentialOptions {
    fileprivate func apply(to options: UnsafeMutablePointer<krb5_get_init_creds_opt>?) {
        if let lifetime { krb5_get_init_creds_opt_set_tkt_life(options, krb5_deltat(clamping: lifetime.components.seconds)) }
        if let renewableLifetime {
            krb5_get_init_creds_opt_set_renew_life(options, krb5_deltat(clamping: renewableLifetime.components.seconds))
        }
        if let isForwardable { krb5_get_init_creds_opt_set_forwardable(options, isForwardable ? 1 : 0) }
    }
}

/// How a principal authenticates to the KDC.
public enum InitialCredentialSource: Sendable {
    /// A known password. It is sent once.
    case password(Secret)
    /// A prompter that answers libkrb5's prompts. It is called only after the KDC has confirmed that it knows the principal.
    case prompter(any Prompter)
    /// A certificate or smart card (PKINIT, RFC 4556), in libkrb5's syntax: `FILE:cert.pem,key.pem`, `PKCS12:file`, `PKCS11:`; nil is
    /// krb5.conf's `pkinit_identities`. The prompter is asked only for a PIN, and no password is tried instead of the certificate.
    case certificate(String?, any Prompter)
    /// A keytab: a path, or a name such as `FILE:/etc/app.keytab`.
    case keytab(String)
    /// The keytab that `KRB5_CLIENT_KTNAME` or krb5.conf's `default_client_keytab_name` names.
    case clientKeytab
}

/// Options for a sign-in; nil values leave the choice to krb5.conf (`krb5_get_init_creds_opt`).
public struct InitialCredentialOptions: Sendable, Hashable {
    /// The requested ticket lifetime.
    public var lifetime: Duration?
    /// The requested renewable lifetime.
    public var renewableLifetime: Duration?
    /// Whether to request a forwardable ticket.
    public var isForwardable: Bool?
    /// How long to wait for a KDC; nil is 10 seconds with one known KDC, else 25.
    public var deadline: Duration?
    /// Whether the KDC may replace the name by the account's own.
    var isCanonical = false

    /// Creates options; the defaults leave everything to krb5.conf.
    public init(
        lifetime: Duration? = nil,
        renewableLifetime: Duration? = nil,
        isForwardable: Bool? = nil,
        deadline: Duration? = nil
    ) {
        self.lifetime = lifetime
        self.renewableLifetime = renewableLifetime
        self.isForwardable = isForwardable
        self.deadline = deadline
    }
}

/// Receives the password's expiry from the KDC's reply (`krb5_get_init_creds_opt_set_expire_callback`), for one sign-in.
final class PasswordExpiry {
    private var timestamp: krb5_timestamp = 0

    /// The callback; its data is an unretained object of this class.
    static let callback: krb5_expire_callback_func = { _, data, password, _, _ in
        guard let data else { return }
        Unmanaged<PasswordExpiry>.fromOpaque(data).takeUnretainedValue().timestamp = password
    }

    /// When the password expires; nil if unknown or never.
    func date(at now: Date) -> Date? { Self.date(Int64(timestamp), at: now) }

    /// Converts a KDC's time; nil for 0 and for "never", which KDCs write as the last second of 31 bits, as -1 or, like Windows, as a day
    /// in September 2037. Also nil for the past, because a password that has just been accepted has not expired.
    static func date(_ seconds: Int64, at now: Date) -> Date? {
        let date = Date(timeIntervalSince1970: Double(seconds))
        return seconds > 0 && seconds < endOfTime && date > now ? date : nil
    }

    /// 2037-09-13 02:48:05 UTC.
    private static let endOfTime: Int64 = 2_136_422_885
}
