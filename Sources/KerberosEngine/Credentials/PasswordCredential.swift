internal import HTTPNegotiate
internal import Kerberos

/// A typed password, or other answers to libkrb5's prompts. Its ticket is renewed as long as it is renewable.
struct PasswordCredential: CredentialKind {
    static let name = "password"
    static let reacquisition = Session.Reacquisition.none
    let acquisition = Session.Acquisition.password
    let marks: [String: String] = [:]

    init() {}

    init(marks: [String: String]) {}

    func permitted(
        _ source: InitialCredentialSource,
        in realm: String,
        by permissions: SignInPermissions
    ) async throws(KerberosError) -> InitialCredentialSource {
        guard permissions.policy.signInRules(of: realm).allowsPassword else {
            throw .forbidden("allowPassword", in: realm, "Sign in with a certificate: ksso login --certificate IDENTITY")
        }
        return source
    }

    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session {
        try await renewal.renew(session)
    }
}
