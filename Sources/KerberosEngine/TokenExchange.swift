internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// The security context behind one grant: feeds the server's tokens to it, one after the other.
final class TokenExchange: AuthorizationExchange {
    /// Nil while a step runs, and after the last one.
    private let initiator: Mutex<SPNEGOInitiator?>
    /// Settled with the first token: the user's ticket is in it, or never comes.
    let isDelegated: Bool
    /// Whether the server has shown that it could read the ticket, or refused it for a reason that another one would meet as well.
    private let isTicketRead = Atomic(false)
    private let replaceTicket: @Sendable () async -> Bool

    /// - Parameter replaceTicket: Asks the KDC for another ticket in place of the one that the token is from.
    init(_ initiator: consuming SPNEGOInitiator, replaceTicket: @escaping @Sendable () async -> Bool) {
        isDelegated = initiator.granted.contains(.delegation)
        self.initiator = Mutex(initiator)
        self.replaceTicket = replaceTicket
    }

    /// An exchange that needs no answer.
    init(established context: borrowing EstablishedContext, replaceTicket: @escaping @Sendable () async -> Bool) {
        isDelegated = context.flags.contains(.delegation)
        initiator = Mutex(nil)
        self.replaceTicket = replaceTicket
    }

    func replaceRefusedTicket() async -> Bool {
        // A server that has read the ticket refuses the principal.
        guard !isTicketRead.load(ordering: .relaxed) else { return false }
        return await replaceTicket()
    }

    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        guard let state = initiator.withLock({ $0.take() }) else {
            throw AuthorizationError(.invalidResponse, "the server sent another token after the exchange had ended.")
        }
        let step: InitiatorStep
        do throws(KerberosError) {
            step = try state.step(token)
        } catch {
            if !error.mayEndWithAnotherTicket { isTicketRead.store(true, ordering: .relaxed) }
            throw AuthorizationError(error)
        }
        isTicketRead.store(true, ordering: .relaxed)
        switch consume step {
        case .proceed(let token, let next):
            keep(next)
            return .send(NegotiateCredentials(token: token).headers)
        case .established(.some(let token), _):
            return .send(NegotiateCredentials(token: token).headers)
        case .established(nil, _):
            return .established
        }
    }

    private func keep(_ next: consuming SPNEGOInitiator) {
        var next: SPNEGOInitiator? = next
        initiator.withLock { $0 = next.take() }
    }
}
