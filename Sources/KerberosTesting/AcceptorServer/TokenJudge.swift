import Dispatch
import Kerberos
import Synchronization

/// Judges the tokens of one connection, on a queue of its own: an acceptor may block for the replay cache's disk write.
final class TokenJudge: Sendable {
    /// What became of a token.
    enum Verdict: Sendable {
        /// The client is known; the reply, if there is one, proves the server to it.
        case accepted(reply: [UInt8]?, initiator: String, flags: ContextFlags)
        /// The client has to answer this first.
        case unfinished(reply: [UInt8])
        case refused(KerberosError)
    }

    private let credential: AcceptorCredential
    private let policy: AcceptorServerOptions.BindingPolicy
    private let queue = DispatchQueue(label: "acceptor server")
    /// A negotiation that waits for its next token: it belongs to the connection.
    private let unfinished = Mutex<SPNEGOAcceptor?>(nil)

    init(credential: AcceptorCredential, policy: AcceptorServerOptions.BindingPolicy) {
        self.credential = credential
        self.policy = policy
    }

    func verdict(on token: [UInt8]) async -> Verdict {
        await perform { self.judge(token) }
    }

    /// Runs what may block.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }

    private func judge(_ token: [UInt8]) -> Verdict {
        do throws(KerberosError) {
            switch try nextAcceptor().step(token) {
            case .proceed(let reply, let acceptor):
                var next: SPNEGOAcceptor? = consume acceptor
                unfinished.withLock { $0 = next.take() }
                return .unfinished(reply: reply)
            case .established(let reply, let context):
                if policy.requiresBindings, !context.flags.contains(.channelBound) {
                    let message = "the client sent no channel bindings."
                    throw KerberosError(.flagsNotGranted, subject: context.initiator, message: message)
                }
                return .accepted(reply: reply, initiator: context.initiator, flags: context.flags)
            }
        } catch {
            return .refused(error)
        }
    }

    private func nextAcceptor() -> SPNEGOAcceptor {
        if let acceptor = unfinished.withLock({ $0.take() }) { return acceptor }
        return SPNEGOAcceptor(credential: credential, channelBindings: policy.bindings)
    }
}
