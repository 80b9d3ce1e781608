internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// The exchange of one grant: passes the server's tokens to the security context, one after the other.
final class TokenExchange: AuthorizationExchange {
    /// Nil during a step and after the last one.
    private let initiator: Mutex<SPNEGOInitiator?>
    /// The sender of the challenge, which gets the tokens: the origin server or a proxy.
    private let challenger: Challenger
    /// Whether the user's ticket is delegated. The first token decides this.
    let isDelegated: Bool
    private let hasSuspectOffset: Bool
    private let refusal = Mutex(Refusal.unexplained)
    private let replaceTicket: Replacement

    /// Requests another ticket from the KDC in place of the token's, given the error in the server's answer, if there was one. Returns
    /// false if there is no other ticket.
    typealias Replacement = @Sendable (KerberosError?) async -> Bool

    private enum Refusal {
        /// The server has sent no error for the ticket.
        case unexplained
        /// Another ticket or a corrected clock offset may be accepted.
        case curable(KerberosError)
        /// The server could decrypt the ticket, or refused it for a reason that another ticket would not change.
        case final
    }

    /// Creates an exchange that expects the server's answer.
    ///
    /// - Parameters:
    ///   - challenger: The sender of the challenge, which gets the tokens.
    ///   - hasSuspectOffset: Whether tokens are corrected by a clock offset from the ticket's cache that is large enough to be out of date.
    ///   - replaceTicket: Replaces a refused ticket.
    init(
        _ initiator: consuming SPNEGOInitiator,
        challenger: Challenger,
        hasSuspectOffset: Bool,
        replaceTicket: @escaping Replacement
    ) {
        self.challenger = challenger
        isDelegated = initiator.granted.contains(.delegation)
        self.initiator = Mutex(initiator)
        self.hasSuspectOffset = hasSuspectOffset
        self.replaceTicket = replaceTicket
    }

    /// Creates an exchange that expects no answer.
    init(established context: borrowing EstablishedContext, replaceTicket: @escaping Replacement) {
        isDelegated = context.flags.contains(.delegation)
        challenger = .origin  // no further token is sent
        initiator = Mutex(nil)
        hasSuspectOffset = false
        self.replaceTicket = replaceTicket
    }

    func replaceRefusedTicket() async -> Bool {
        switch refusal.withLock({ $0 }) {
        case .unexplained: await replaceTicket(nil)
        case .curable(let error): await replaceTicket(error)
        case .final: false  // a server that could decrypt the ticket refuses the principal
        }
    }

    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        guard let state = initiator.withLock({ $0.take() }) else {
            throw AuthorizationError(.invalidResponse, "the server sent another token after the exchange had ended.")
        }
        let step: InitiatorStep
        do throws(KerberosError) {
            step = try state.step(token)
        } catch {
            let isCurable = error.mayBeCuredByNewTicket || error.code == .clockSkew && hasSuspectOffset
            refusal.withLock { $0 = isCurable ? .curable(error) : .final }
            // The error is from the server's token: the caller gets its response.
            guard error.code == .clockSkew else { throw AuthorizationError(error) }
            throw AuthorizationError(.refusedByServer, error.description, cause: error)
        }
        refusal.withLock { $0 = .final }
        switch consume step {
        case .proceed(let token, let next):
            keep(next)
            return .send(NegotiateCredentials(token: token).headers(for: challenger))
        case .established(.some(let token), _):
            return .send(NegotiateCredentials(token: token).headers(for: challenger))
        case .established(nil, _):
            return .established
        }
    }

    private func keep(_ next: consuming SPNEGOInitiator) {
        var next: SPNEGOInitiator? = next
        initiator.withLock { $0 = next.take() }
    }
}
