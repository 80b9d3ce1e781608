internal import Kerberos

/// A password in the store for automatic sign-in. Its ticket is renewed; when that is no longer possible, it is reacquired with the stored
/// password.
struct StoredSecretCredential: CredentialKind {
    static let name = "storedSecret"
    let text = "ksso with a stored password"
    static let reacquisition = Session.Reacquisition.key
    let acquisition = Session.Acquisition.storedSecret
    let marks: [String: String] = [:]

    init() {}

    init(marks: [String: String]) {}

    func reacquire(
        _ session: Session,
        with renewal: Renewal,
        prompter: (any Prompter)?
    ) async throws(KerberosError) -> Session {
        do throws(KerberosError) {
            return try await renewal.renew(session)
        } catch  where error.isBeyondRenewal {
            return try await renewal.tickets.replace(in: session, notesPasswordExpiry: true) { _ async throws(KerberosError) in
                guard let ticket = try await renewal.secrets?.ticket(of: session.principal, ignoresPause: true) else {
                    await renewal.tickets.store.unmarkStoredSecret(of: session.principal)
                    throw .needsPerson(session.principal)
                }
                return SignInTicket(ticket)
            }
        }
    }
}
