internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// Remembers which principals' keys the KDC refused, so that a refused key is not sent again with every request and the account is not
/// locked.
final class KeytabBackoff: Sendable {
    private let clock: @Sendable () -> Date
    private let refusals = Mutex<[Principal: (error: KerberosError, until: Date)]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Throws the last error again while its pause lasts, including the error of a KDC that did not answer.
    func check(_ principal: Principal) throws(KerberosError) { try check(principal, at: clock(), ignoresPause: false) }

    private func check(_ principal: Principal, at now: Date, ignoresPause: Bool) throws(KerberosError) {
        guard let refusal = refusals.withLock({ $0[principal] }), refusal.until > now else { return }
        if !ignoresPause || refusal.error.code != .kdcUnreachable { throw refusal.error }
    }

    /// Runs a sign-in with a key. While the pause after a failure lasts, throws the last error again instead.
    ///
    /// - Parameter ignoresPause: Whether to ignore the pause after a KDC did not answer, because the caller paces its own retries. The
    ///   pause after a refusal always applies.
    func attempt<Value: Sendable>(
        _ principal: Principal,
        ignoresPause: Bool = false,
        _ signIn: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let now = clock()
        try check(principal, at: now, ignoresPause: ignoresPause)
        do throws(KerberosError) {
            let value = try await signIn()
            refusals.withLock { $0[principal] = nil }
            return value
        } catch {
            let until = clock().addingTimeInterval(Self.pause(after: error))
            refusals.withLock { refusals in
                refusals = refusals.filter { $0.value.until > now }
                refusals[principal] = (error, until)
            }
            throw error
        }
    }

    /// The pause after a KDC refused a key or a ticket, in seconds.
    static let longPause: Double = 300

    /// The pause after an error, in seconds. The pause after a KDC did not answer is short.
    private static func pause(after error: KerberosError) -> Double {
        switch error.code {
        case .wrongPassword, .accountLocked, .unknownPrincipal: longPause
        case .kdcUnreachable: 5
        default: 0
        }
    }
}
