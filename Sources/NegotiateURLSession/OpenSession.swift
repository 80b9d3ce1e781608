import Dispatch
import FoundationNetworking
import HTTPNegotiate
import Synchronization

/// A URLSession and its transfers.
///
/// A busy session lets who makes or cancels a task wait, for seconds; so both are done on a queue of its own. The queue also keeps their
/// order: a session that is invalidated traps when it is asked for another task.
final class OpenSession: Sendable {
    private let session: URLSession
    private let delegate: SessionDelegate
    private let queue = DispatchQueue(label: "NegotiateURLSession")
    private let isInvalidated = Mutex(false)

    init(configuration: URLSessionConfiguration) {
        delegate = SessionDelegate(queue: queue)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: PacedOperationQueue())
    }

    func start(_ request: SessionRequest, _ transfer: Transfer) {
        queue.async { [self] in
            guard !isInvalidated.withLock({ $0 }) else { return transfer.fail(HTTPTransportError.shutDown) }
            let task = request.makeTask(in: session)
            delegate.add(transfer, of: task)
            if transfer.begin(stop: { [queue] in queue.async { task.cancel() } }) { task.resume() } else { task.cancel() }
        }
    }

    /// Ends what is in progress and closes the connections.
    func invalidate() {
        queue.async { [self] in
            isInvalidated.withLock { $0 = true }
            session.invalidateAndCancel()
        }
    }
}
