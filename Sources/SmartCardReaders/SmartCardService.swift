internal import Dispatch
internal import Synchronization
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The smart card service of this machine (PC/SC lite's pcscd). Only the readers' states are read: no card is used.
package enum SmartCardService {
    /// The readers of the machine, or why they are not known: `noAnswer` also if the service takes longer than the limit. Can be called
    /// from any thread.
    package static func knownReaders(within limit: Duration = .seconds(2)) async -> Result<[SmartCardReader], SmartCardServiceError> {
        let result = await firstResult(within: limit.patient) {
            await BlockingCall.run { Result { () throws(SmartCardServiceError) in try SmartCardContext().states().map(\.reader) } }
        }
        return result ?? .failure(.noAnswer)
    }

    /// Yields the readers at once and after each change, or why they are not known. Ends after an error, and when the caller stops
    /// iterating.
    package static func changes() -> AsyncStream<Result<[SmartCardReader], SmartCardServiceError>> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Result<[SmartCardReader], SmartCardServiceError>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let watch = ReaderWatch { continuation.yield($0) }
        continuation.onTermination = { _ in watch.stop() }
        DispatchQueue(label: "ksso.readers").async {
            watch.run()
            continuation.finish()
        }
        return stream
    }
}

/// Waits for changes of the readers on the thread that runs it, until another thread stops it.
private final class ReaderWatch: Sendable {
    private struct State {
        var context: SmartCardContext?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let report: @Sendable (Result<[SmartCardReader], SmartCardServiceError>) -> Void

    init(_ report: @escaping @Sendable (Result<[SmartCardReader], SmartCardServiceError>) -> Void) { self.report = report }

    func run() {
        do throws(SmartCardServiceError) {
            let context = try SmartCardContext()
            let isStopped = state.withLock { state in
                state.context = context
                return state.isStopped
            }
            guard !isStopped else { return }
            var known = try context.states()
            report(.success(known.map(\.reader)))
            while !state.withLock(\.isStopped) {
                try context.waitForChange(of: known)
                let states = try context.states()
                if states.map(\.reader) != known.map(\.reader) {
                    report(.success(states.map(\.reader)))
                } else {
                    // If the library returns at once for a reason that is not known here, this thread does not keep a processor busy.
                    usleep(100_000)
                }
                known = states
            }
        } catch {
            report(.failure(error))
        }
    }

    /// Ends the wait. The service forgets a request to cancel that comes between two waits, so that the thread may then wait once more.
    /// The request waits for the service's answer, on a thread of its own.
    func stop() {
        let context = state.withLock { state in
            state.isStopped = true
            return state.context
        }
        if let context { DispatchQueue(label: "ksso.readers.stop").async { context.cancel() } }
    }
}
