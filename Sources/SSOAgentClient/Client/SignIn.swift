public import SignOnPolicy
public import SystemSupport

extension AgentClient {
    /// What signs a principal in.
    public struct LoginCredential: Sendable {
        enum Kind {
            case prompt
            case password(Secret)
            case keytab(path: String)
            case certificate(String, pin: Secret?)
        }
        let kind: Kind

        /// What the user enters when the agent prompts, if the agent has a prompter: one prompt for all programs that wait for it. The
        /// prompt stays open for minutes.
        public static let prompt = LoginCredential(kind: .prompt)

        /// A password. It is sent over the user's own socket and is used for one attempt at the KDC; it is never sent again if the
        /// connection fails.
        public static func password(_ password: Secret) -> LoginCredential { LoginCredential(kind: .password(password)) }

        /// A keytab, which the agent reads, by its absolute path.
        public static func keytab(_ path: String) -> LoginCredential { LoginCredential(kind: .keytab(path: path)) }

        /// A certificate or smart card (PKINIT, RFC 4556), which the agent reads. It never falls back to a password.
        ///
        /// - Parameters:
        ///   - identity: The identity in libkrb5's syntax with absolute paths: `FILE:/cert.pem,/key.pem`, `PKCS12:/me.p12`, `PKCS11:`.
        ///   - pin: The certificate's PIN. Without it, an agent with a prompter prompts for a PIN that the certificate requires, once for
        ///     all programs that wait for it.
        public static func certificate(_ identity: String, pin: Secret? = nil) -> LoginCredential {
            LoginCredential(kind: .certificate(identity, pin: pin))
        }

        /// The certificate or smart card that the profile or krb5.conf names; see ``certificate(_:pin:)``.
        public static let configuredCertificate = LoginCredential(kind: .certificate(LoginRequest.configuredCertificate, pin: nil))

        /// The certificate or smart card that the profile or krb5.conf names, with its PIN; see ``certificate(_:pin:)``.
        public static func configuredCertificate(pin: Secret?) -> LoginCredential {
            LoginCredential(kind: .certificate(LoginRequest.configuredCertificate, pin: pin))
        }
    }

    /// Signs a principal in, for every program of the user.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil means the profile's principal, or else the user.
    ///   - realm: The realm for a name without one.
    ///   - credential: What signs in, such as `.password(Secret("…"))` or `.prompt`.
    /// - Throws: `AuthorizationError` with the code of a `KerberosError`, such as `wrongPassword` or `certificateRefused`; `notInteractive`
    ///   if a prompt is required and the agent cannot prompt, or another prompt is open for the principal; `canceled` if the user cancels,
    ///   or has canceled a short time ago.
    @discardableResult
    public func login(
        _ principal: String? = nil,
        realm: String? = nil,
        using credential: LoginCredential
    ) async throws(AuthorizationError) -> StatusDocument.Session {
        var request = LoginRequest(principal: principal, realm: realm)
        switch credential.kind {
        case .prompt: break
        case .password(let password): request.password = try password.text()
        case .keytab(let path): request.keytab = path
        case .certificate(let identity, let pin):
            request.certificate = identity
            if let pin { request.pin = try pin.text() }
        }
        return try await login(request)
    }

    private func login(_ request: LoginRequest) async throws(AuthorizationError) -> StatusDocument.Session {
        let reply: SessionsReply = try await post(
            AgentPath.login,
            request,
            isRepeatable: false,
            waitsForAPerson: request.mayAsk
        )
        guard let session = reply.sessions.first else {
            throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's response contains no session. Restart the agent.")
        }
        return session
    }
}

extension Secret {
    /// Copies the secret to the text of a request.
    ///
    /// - Throws: `AuthorizationError` if the bytes are not UTF-8, which JSON requires. A repaired text would cost an attempt at the KDC.
    func text() throws(AuthorizationError) -> String {
        guard let text = unsafe withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) }) else {
            throw AuthorizationError(.failed, "The password or PIN is not UTF-8, so it was not sent. Create the secret from UTF-8 text.")
        }
        return text
    }
}

/// The body of `POST /v1/login`. Because it contains a secret, its description is redacted, and it is sent only over a socket of the user's
/// own.
package struct LoginRequest: Codable, Sendable {
    package var principal: String?
    package var realm: String?
    /// The password, used for one attempt at the KDC. Mutually exclusive with ``keytab`` and ``certificate``.
    package var password: String?
    /// The absolute path of a keytab.
    package var keytab: String?
    /// A certificate in libkrb5's syntax; ``configuredCertificate`` means the configured one.
    package var certificate: String?
    /// The certificate's PIN.
    package var pin: String?
    /// The requested lifetime of the ticket, in seconds.
    package var lifetime: Int?
    /// The requested renewable lifetime, in seconds.
    package var renewableLifetime: Int?

    /// The value of ``certificate`` for the one that the profile or krb5.conf names.
    static let configuredCertificate = "default"

    package enum CodingKeys: String, CodingKey, CaseIterable {
        case principal, realm, password, keytab, certificate, pin, lifetime, renewableLifetime
    }

    package init(
        principal: String? = nil,
        realm: String? = nil,
        password: String? = nil,
        keytab: String? = nil,
        certificate: String? = nil,
        pin: String? = nil,
        lifetime: Int? = nil,
        renewableLifetime: Int? = nil
    ) {
        self.principal = principal
        self.realm = realm
        self.password = password
        self.keytab = keytab
        self.certificate = certificate
        self.pin = pin
        self.lifetime = lifetime
        self.renewableLifetime = renewableLifetime
    }
}

extension LoginRequest {
    /// Whether the agent may prompt for what the request lacks.
    fileprivate var mayAsk: Bool { password == nil && keytab == nil }
}

extension LoginRequest: CustomStringConvertible, CustomReflectable {
    /// A text without the password and the PIN.
    package var description: String { "a sign-in" }
    /// A mirror without the password and the PIN.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension AgentClient.LoginCredential: CustomStringConvertible, CustomReflectable {
    /// A text without the password and the PIN.
    public var description: String { "a credential" }
    /// A mirror without the password and the PIN.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
