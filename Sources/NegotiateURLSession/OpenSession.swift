import Dispatch
import Foundation
import FoundationNetworking
import HTTPNegotiate
import Synchronization

/// A URLSession and its transfers.
///
/// Because a busy session may block a caller that creates or cancels a task for seconds, both are done on a separate queue. The queue also
/// preserves their order: creating a task in an invalidated session traps.
final class OpenSession: Sendable {
    private let session: URLSession
    private let delegate: SessionDelegate
    private let queue = DispatchQueue(label: "NegotiateURLSession")
    private let isInvalidated = Mutex(false)

    init(configuration: URLSessionConfiguration) {
        delegate = SessionDelegate(queue: queue)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: BackpressureQueue())
    }

    func start(_ request: SessionRequest, _ transfer: Transfer) {
        queue.async { [self] in
            guard !isInvalidated.withLock({ $0 }) else { return transfer.fail(HTTPTransportError.shutDown) }
            let task = request.makeTask(in: session)
            delegate.add(transfer, of: task)
            if transfer.begin(stop: { [queue] in queue.async { task.cancel() } }) { task.resume() } else { task.cancel() }
        }
    }

    /// Ends the transfers in progress and closes the connections.
    func invalidate() {
        queue.async { [self] in
            isInvalidated.withLock { $0 = true }
            session.invalidateAndCancel()
        }
    }
}

/// Forwards the events of a session to the transfers.
///
/// No method waits for the session, because the session in turn waits for its callbacks, see ``BackpressureQueue``.
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
        // Interim responses (1xx) are delivered like responses.
        if let response = response as? HTTPURLResponse, response.statusCode >= 200 { transfer(of: dataTask)?.receive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.receive(data)
    }

    /// Follows no redirect: the call decides on it first. URLSession would send the ticket to the new location.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// A 401 that offers Basic is delivered here after its body; without an answer its task would never end.
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

/// Runs a session's callbacks one after another, and makes the session wait while many of them are outstanding.
///
/// Because URLSession cannot be paused, data that a server sends faster than it is written to a disk would accumulate in memory. URLSession
/// adds callbacks from its own thread, so blocking that thread pauses the connection.
///
/// The class is an unchecked Sendable type because its superclass is; it only adds a semaphore, which is constant.
final class BackpressureQueue: OperationQueue, @unchecked Sendable {
    /// The maximum number of outstanding callbacks; a piece of a body has at most 16 KiB.
    private static let maximumOutstanding = 64

    private let slots = DispatchSemaphore(value: 0)

    override init() {
        super.init()
        maxConcurrentOperationCount = 1
        // Created with a value of 0, because Dispatch traps if a semaphore is released with a smaller value than its initial one.
        for _ in 0..<BackpressureQueue.maximumOutstanding { slots.signal() }
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        slots.wait()
        super.addOperation { [slots] in
            block()
            slots.signal()
        }
    }
}
