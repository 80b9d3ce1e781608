internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// Keeps a keytab's key that the KDC refused from being sent with every request, since that may lock the account.
final class KeyRefusals: Sendable {
    private let clock: @Sendable () -> Date
    private let refusals = Mutex<[Principal: (error: KerberosError, until: Date)]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Throws the last refusal again while its pause lasts, that of a KDC that was away included.
    func check(_ principal: Principal) throws(KerberosError) { try check(principal, at: clock(), triesKDCAnew: false) }

    private func check(_ principal: Principal, at now: Date, triesKDCAnew: Bool) throws(KerberosError) {
        guard let refusal = refusals.withLock({ $0[principal] }), refusal.until > now else { return }
        if !triesKDCAnew || refusal.error.code != .kdcUnreachable { throw refusal.error }
    }

    /// Runs a sign-in by keytab; throws the last refusal again while its pause lasts.
    ///
    /// - Parameter triesKDCAnew: whoever asks goes by its own pace where a KDC is away, and is held back by refusals alone.
    func attempt<Value: Sendable>(
        _ principal: Principal,
        triesKDCAnew: Bool = false,
        _ signIn: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let now = clock()
        try check(principal, at: now, triesKDCAnew: triesKDCAnew)
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

    /// After the refusal of a key or of a ticket, in seconds.
    static let longPause: Double = 300

    /// In seconds. A KDC that is away is asked again soon.
    private static func pause(after error: KerberosError) -> Double {
        switch error.code {
        case .wrongPassword, .accountLocked, .unknownPrincipal: longPause
        case .kdcUnreachable: 5
        default: 0
        }
    }
}
