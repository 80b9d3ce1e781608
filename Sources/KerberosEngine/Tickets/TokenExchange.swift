internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// The security context behind one grant: feeds the server's tokens to it, one after the other.
final class TokenExchange: AuthorizationExchange {
    /// Nil while a step runs, and after the last one.
    private let initiator: Mutex<SPNEGOInitiator?>
    /// Settled with the first token: the user's ticket is in it, or never comes.
    let isDelegated: Bool
    private let hasClockOffset: Bool
    private let refusal = Mutex(Refusal.unexplained)
    private let replaceTicket: Replacement

    /// Requests another ticket in place of the one that the token is from, given the error in the server's answer, if there was one. Returns
    /// false if the KDC issues none.
    typealias Replacement = @Sendable (KerberosError?) async -> Bool

    private enum Refusal {
        /// The server has not said what it takes the ticket for.
        case unexplained
        /// Another ticket, or another clock, may be accepted.
        case curable(KerberosError)
        /// The server could read the ticket, or refused it for a reason that another one would meet as well.
        case final
    }

    /// - Parameters:
    ///   - hasClockOffset: Whether tokens carry another time than this machine's, as the ticket's cache says, which may be out of date.
    ///   - replaceTicket: What replaces a refused ticket.
    init(_ initiator: consuming SPNEGOInitiator, hasClockOffset: Bool, replaceTicket: @escaping Replacement) {
        isDelegated = initiator.granted.contains(.delegation)
        self.initiator = Mutex(initiator)
        self.hasClockOffset = hasClockOffset
        self.replaceTicket = replaceTicket
    }

    /// An exchange that needs no answer.
    init(established context: borrowing EstablishedContext, replaceTicket: @escaping Replacement) {
        isDelegated = context.flags.contains(.delegation)
        initiator = Mutex(nil)
        hasClockOffset = false
        self.replaceTicket = replaceTicket
    }

    func replaceRefusedTicket() async -> Bool {
        switch refusal.withLock({ $0 }) {
        case .unexplained: await replaceTicket(nil)
        case .curable(let error): await replaceTicket(error)
        case .final: false  // a server that has read the ticket refuses the principal
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
            let isCurable = error.mayEndWithAnotherTicket || error.code == .clockSkew && hasClockOffset
            refusal.withLock { $0 = isCurable ? .curable(error) : .final }
            guard isCurable, error.code == .clockSkew else { throw AuthorizationError(error) }
            throw AuthorizationError(.refusedByServer, error.description, cause: error)
        }
        refusal.withLock { $0 = .final }
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
