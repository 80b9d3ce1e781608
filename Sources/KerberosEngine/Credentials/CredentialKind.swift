internal import Kerberos

/// A kind of credential that a session's ticket was acquired with: its name, its marks in the cache, and how it reacquires the ticket.
///
/// Each kind has a file of its own in this folder. A new kind also needs a case of `InitialCredentialSource`, which describes it to
/// libkrb5, and a case of ``Session/Acquisition``; this file lists both.
protocol CredentialKind: Sendable {
    /// The kind's name, which is also the value of ``SessionMark/acquiredBy`` in the caches.
    static var name: String { get }
    /// The credential in a sentence, after "acquired by".
    var text: String { get }
    /// The means of reacquiring a ticket of this kind without a password prompt.
    static var reacquisition: Session.Reacquisition { get }
    /// How a session reports the credential.
    var acquisition: Session.Acquisition { get }
    /// The marks that describe the credential in addition to its name.
    var marks: [String: String] { get }

    /// Creates the credential that the marks of a cache describe.
    init(marks: [String: String])

    /// Renews or reacquires the ticket-granting ticket of a session that was acquired with this credential.
    ///
    /// - Parameter prompter: Asks for what the credential requires; nil asks no one.
    /// - Throws: `KerberosError`; `notInteractive` if the ticket cannot be acquired without a person.
    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session
}

/// A kind of credential that callers sign in with: whether profiles permit it, how a person is asked for what it requires, and how the
/// ticket is requested.
protocol SignInCredential: CredentialKind {
    /// The source of a sign-in with this credential whose prompter is asked for what the credential requires.
    func source(askedBy prompter: any Prompter) -> InitialCredentialSource

    /// The arguments of `ksso login` that select this credential, with a leading space; empty if it is the default.
    var loginArguments: String { get }

    /// Checks that a client of the agent may name this credential.
    ///
    /// - Throws: `KerberosError` if the agent would run a file that the client names.
    func checkNaming(in realm: String, by permissions: SignInPermissions) async throws(KerberosError)

    /// Returns the source of a sign-in as the profiles of a realm permit it.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if a profile does not allow this kind of sign-in.
    func permitted(
        _ source: InitialCredentialSource,
        in realm: String,
        by permissions: SignInPermissions
    ) async throws(KerberosError) -> InitialCredentialSource

    /// Requests a ticket-granting ticket from the KDC.
    ///
    /// - Parameter source: The permitted source of the sign-in.
    func ticket(
        for principal: Principal,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        by exchange: InitialExchange
    ) async throws(KerberosError) -> SignInTicket
}

extension SignInCredential {
    var loginArguments: String { "" }
}

extension InitialCredentialSource {
    /// The kind of credential that this source provides.
    var kind: any SignInCredential {
        switch self {
        case .password, .prompter: PasswordCredential()
        case .certificate(let identity, _): CertificateCredential(given: identity)
        case .keytab(let name): KeytabCredential(given: name)
        case .clientKeytab: KeytabCredential(given: nil)
        }
    }
}

extension Session {
    /// How a ticket was acquired.
    public enum Acquisition: Sendable, Hashable {
        /// By this project, with a typed password or other answers to prompts.
        case password
        /// By this project, from a keytab.
        case keytab(String)
        /// By this project, with a certificate or smart card, as libkrb5 names it (`Kerberos/InitialCredentialSource/certificate(_:_:)`);
        /// empty is the one that the profile or krb5.conf names.
        case certificate(String)
        /// By this project, with a stored password (``SecretStore``), which also reacquires the ticket.
        case storedSecret
        /// By another program: kinit, sssd, a login through PAM. A sign-out destroys it only if `includingOthers` is set.
        case other
    }

    /// The means of reacquiring a session's ticket-granting ticket without a password prompt.
    package enum Reacquisition: Sendable, Hashable {
        /// There is none.
        case none
        /// A keytab or a stored password.
        case key
        /// A certificate. Only its use shows whether it requires a PIN or whether its card is missing.
        case certificate
    }
}

extension Session.Acquisition {
    /// Every kind that a mark can name.
    private static let kinds: [any CredentialKind.Type] = [
        PasswordCredential.self, KeytabCredential.self, CertificateCredential.self, StoredSecretCredential.self,
    ]

    /// The credential; nil if another program acquired the ticket.
    var kind: (any CredentialKind)? {
        switch self {
        case .password: PasswordCredential()
        case .keytab(let name): KeytabCredential(name: name)
        case .certificate(let identity): CertificateCredential(identity: identity)
        case .storedSecret: StoredSecretCredential()
        case .other: nil
        }
    }

    /// The name in the agent's API and in JSON output; `other` for another program.
    package var name: String { kind.map { type(of: $0).name } ?? Self.otherName }

    private static let otherName = "other"

    /// Every value of ``name``.
    package static var names: [String] { kinds.map { $0.name } + [otherName] }

    /// The credential or the program in a sentence, after "acquired by".
    package var text: String { kind?.text ?? "another program" }

    /// Reads how a cache's ticket was acquired from the cache's marks.
    init(marks: [String: String]) {
        self = Self.kind(named: marks[SessionMark.acquiredBy])?.init(marks: marks).acquisition ?? .other
    }

    /// The kind that a mark names; nil if the mark is missing or unknown.
    static func kind(named name: String?) -> (any CredentialKind.Type)? { kinds.first { $0.name == name } }
}

extension Session {
    /// The cache setting that records how this project acquired its ticket.
    package static let acquisitionSetting = SessionMark.acquiredBy

    /// Whether the setting's value means that a keytab or a stored password reacquires the ticket.
    package static func isReacquirable(setting value: String) -> Bool { Acquisition.kind(named: value)?.reacquisition == .key }

    /// The means of reacquiring the ticket without a password prompt.
    package var reacquisition: Reacquisition { acquiredBy.kind.map { type(of: $0).reacquisition } ?? .none }
}
