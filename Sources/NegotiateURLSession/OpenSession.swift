import Dispatch
import Foundation
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

/// Hands what happens in a session to the transfers.
///
/// Nothing here waits for the session: its callbacks are held back by ours, see ``PacedOperationQueue``.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private let transfers = Mutex<[Int: Transfer]>([:])
    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
        super.init()
    }

    func add(_ transfer: Transfer, of task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // Interim responses (1xx) come as if they were responses.
        if let response = response as? HTTPURLResponse, response.statusCode >= 200 { transfer(of: dataTask)?.receive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.receive(data)
    }

    /// A redirect is judged before it is followed, and never here. URLSession would take the ticket along.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// A 401 that offers Basic comes here after its body, and left to itself its task would never end.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        transfer(of: task)?.finish(challenge.failureResponse as? HTTPURLResponse)
        queue.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let transfer = transfers.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let error { transfer.fail(error) } else { transfer.finish(task.response as? HTTPURLResponse) }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? { transfers.withLock { $0[task.taskIdentifier] } }
}

/// Runs a session's callbacks one after the other, and lets the session wait while many of them are outstanding.
///
/// URLSession can't be told to pause: what a server sends faster than it is written to a disk would pile up in memory. It adds callbacks
/// from its own thread, so that holding that thread holds the connection.
///
/// Unchecked, because its superclass is: what is added here is a semaphore, which does not change.
final class PacedOperationQueue: OperationQueue, @unchecked Sendable {
    /// A piece of a body has 16 KiB at most.
    private static let maximumOutstanding = 64

    private let slots = DispatchSemaphore(value: 0)

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
        // Dispatch traps when a semaphore goes with less than it was made with; so it is made with none.
        for _ in 0..<PacedOperationQueue.maximumOutstanding { slots.signal() }
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        slots.wait()
        super.addOperation { [slots] in
            block()
            slots.signal()
        }
    }
}
