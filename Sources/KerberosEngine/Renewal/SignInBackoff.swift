internal import Kerberos

internal import struct Foundation.Date

/// Remembers for which principals the KDC refused a key or a stored password, so that it is not sent again with every request and the
/// account is not locked.
final class SignInBackoff: Sendable {
    private let failures: Pauses<Principal, KerberosError>

    init(clock: @escaping @Sendable () -> Date) { failures = Pauses(clock: clock) }

    /// Throws the last error again while its pause lasts, including the error of a KDC that did not answer.
    func check(_ principal: Principal) throws(KerberosError) { try check(principal, ignoresPause: false) }

    private func check(_ principal: Principal, ignoresPause: Bool) throws(KerberosError) {
        guard let error = failures.reason(for: principal) else { return }
        if !ignoresPause || error.code != .kdcUnreachable { throw error }
    }

    /// Runs a sign-in with a key or a stored password. While the pause after a failure lasts, throws the last error again instead.
    ///
    /// - Parameter ignoresPause: Whether to ignore the pause after a KDC did not answer, because the caller paces its own retries. The
    ///   pause after a refusal always applies.
    func attempt<Value: Sendable>(
        _ principal: Principal,
        ignoresPause: Bool = false,
        _ signIn: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try check(principal, ignoresPause: ignoresPause)
        do throws(KerberosError) {
            let value = try await signIn()
            failures.end(principal)
            return value
        } catch {
            failures.begin(principal, because: error, seconds: Self.pause(after: error))
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
