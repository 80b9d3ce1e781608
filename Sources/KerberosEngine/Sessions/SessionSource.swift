internal import Kerberos
internal import SignOnPolicy

/// Lists sessions.
protocol SessionReader: Sendable {
    /// All present sessions. Acquires nothing, and uses no network.
    func read() async throws(KerberosError) -> SessionList
}

/// Where the sessions that answer challenges come from: the credential caches of a user, or the keytab of a service.
///
/// A source does not notice by itself that the machine's clock was set. Its callers do, with ``ClockOffsets``.
protocol SessionSource: SessionReader {
    /// Whether a session whose ticket expired between its check and its use is acquired again at once.
    var replacesExpiredSessions: Bool { get }

    /// The session that would answer for a plan; nil if there is none. Acquires nothing, so its ticket may have expired.
    ///
    /// - Parameter name: The principal that the caller chose; nil leaves the choice to the profile.
    func present(for plan: AuthorizationPlan, principal name: String?) async throws(KerberosError) -> Session?

    /// The session that answers for a plan. Renews or acquires it if necessary.
    ///
    /// - Parameters:
    ///   - name: The principal that the caller chose; nil leaves the choice to the profile.
    ///   - mayAsk: Whether a person may be prompted.
    func session(for plan: AuthorizationPlan, principal name: String?, mayAsk: Bool) async throws(KerberosError) -> Session

    /// The session of a principal, or of a realm's default principal if none is named. Renews or acquires it if that needs no person.
    ///
    /// - Parameter list: The sessions as they were just read.
    func session(of principal: Principal?, orDefaultOf realm: String, in list: SessionList) async throws(KerberosError) -> Session

    /// The session as it is now; nil if it has ended, or if its cache belongs to another principal now.
    func current(_ session: Session) async throws(KerberosError) -> Session?

    /// Renews or reacquires a session's ticket-granting ticket.
    ///
    /// - Parameter prompter: Asks for the PIN of a certificate that requires one; nil asks no one.
    func refresh(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session

    /// Reacquires a ticket-granting ticket that a KDC cannot decrypt, and drops the session's other tickets.
    func reacquire(refused session: Session, from keytab: KeytabCredential) async throws(KerberosError) -> Session

    /// Ends those of the sessions that may be ended, and destroys their tickets.
    func end(_ sessions: [Session], _ request: SignOutRequest) async throws(KerberosError) -> SignOutResult

    /// Corrects the stored offsets of the KDCs' clocks after the machine's clock was set.
    func follow(_ step: ClockWatch.Step) async

    /// Repeats a call that failed because of clock skew, with a copy of the session in memory that has no clock offset. If the call
    /// succeeds, its tickets replace those in the session's cache.
    ///
    /// - Throws: `failure` if the offset is not the reason that the call failed.
    func withoutClockOffset<Value: Sendable>(
        of session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value
}
