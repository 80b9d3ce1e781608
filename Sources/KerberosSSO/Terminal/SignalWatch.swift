internal import Foundation
internal import Kerberos
internal import Synchronization

/// Catches the signals that would end or stop the process, for the time a question is open, and hands them on afterwards.
///
/// A handler may only do what is safe between any two instructions: it writes the signal's number to a pipe.
struct SignalWatch: ~Copyable {
    /// Readable when a signal came.
    let descriptor: Int32
    private let previous: [(Int32, sigaction)]

    /// What ``next()`` gives when the question was canceled.
    static let canceled: Int32 = 0

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU]
    /// One pipe for the process, never closed: a handler in another thread may still be about to write.
    private static let ends: (read: Int32, write: Int32)? = {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        return (ends[0], ends[1])
    }()
    /// The write end, for the handler, which can't wait for the pipe to be made.
    private static let writeEnd = Atomic<Int32>(-1)

    /// The caller sees to it that there is one watch at a time.
    init() throws(PromptRefusal) {
        guard let ends = Self.ends else { throw .notInteractive }
        descriptor = ends.read
        var rest: UInt8 = 0
        while unsafe read(ends.read, &rest, 1) == 1 {}  // what came after the last question is over
        previous = Self.signals.compactMap { number in Self.install(number).map { (number, $0) } }
    }

    deinit {
        for (number, action) in previous { Self.restore(number, action) }
    }

    /// Ends the question that is open, if one is.
    static func cancel() {
        var byte = UInt8(canceled)
        unsafe _ = write(writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
    }

    /// The number of a signal that came; nil when none did.
    func next() -> Int32? {
        var number: UInt8 = 0
        return unsafe read(descriptor, &number, 1) == 1 ? Int32(number) : nil
    }

    /// Lets the process have the signal as if nobody had watched: it ends, stops, or runs its own handler. Returns when it goes on.
    func deliver(_ number: Int32) {
        guard let action = previous.first(where: { $0.0 == number })?.1 else { return }
        // In this thread the default action takes place before `raise` returns; a handler may wait for a signal to the whole process.
        _ = allowing(number) { Self.isDefault(action) ? raise(number) : kill(getpid(), number) }
    }

    /// Stops the process group, this process last: in this thread, before the call returns. A signal to the whole process might be taken by
    /// another thread, and only when the watch is in place again.
    func stopGroup(_ number: Int32) {
        if previous.contains(where: { $0.0 == number }) { signal(number, SIG_IGN) }
        kill(0, number)
        _ = allowing(number) { raise(number) }
    }

    /// Makes a call with the signal's own action in place, and not blocked in this thread.
    func allowing(_ number: Int32, _ call: () -> Int32) -> Int32 {
        guard let action = previous.first(where: { $0.0 == number })?.1 else { return call() }
        Self.restore(number, action)
        var signal = sigset_t()
        var mask = sigset_t()
        unsafe sigemptyset(&signal)
        unsafe sigaddset(&signal, number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signal, &mask)
        defer {
            unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
            _ = Self.install(number)
        }
        return call()
    }

    private static func install(_ number: Int32) -> sigaction? {
        var old = sigaction()
        guard unsafe sigaction(number, nil, &old) == 0, !isIgnored(old) else { return nil }
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            let saved = errno
            unsafe _ = write(SignalWatch.writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        return unsafe sigaction(number, &action, nil) == 0 ? old : nil
    }

    private static func restore(_ number: Int32, _ action: sigaction) {
        var action = action
        unsafe sigaction(number, &action, nil)
    }

    /// A program that ignores a signal, such as one under nohup, goes on ignoring it.
    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func isDefault(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
}
