internal import Foundation
internal import Kerberos
internal import Synchronization

/// Catches the signals that would terminate or stop the process while a prompt is open, and delivers them afterwards.
///
/// A signal handler may only call async-signal-safe functions: this one writes the signal's number to a pipe.
struct SignalWatch: ~Copyable {
    /// Readable after a signal has arrived.
    let descriptor: Int32
    private let previous: [(Int32, sigaction)]

    /// The value of ``next()`` after the prompt was canceled.
    static let canceled: Int32 = 0

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU]
    /// The process's only pipe. It is never closed, because a handler in another thread may be about to write to it.
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
    /// The pipe's write end. It is separate from `ends`, because a handler cannot wait for their initialization.
    private static let writeEnd = Atomic<Int32>(-1)

    /// Installs the handlers. The caller ensures that there is only one watch at a time.
    init() throws(PromptRefusal) {
        guard let ends = Self.ends else { throw .notInteractive }
        descriptor = ends.read
        var rest: UInt8 = 0
        while unsafe read(ends.read, &rest, 1) == 1 {}  // discards what arrived after the last prompt
        previous = Self.signals.compactMap { number in Self.install(number).map { (number, $0) } }
    }

    deinit {
        for (number, action) in previous { Self.restore(number, action) }
    }

    /// Cancels the open prompt, if there is one.
    static func cancel() {
        var byte = UInt8(canceled)
        unsafe _ = write(writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
    }

    /// The number of a signal that has arrived; nil if there is none.
    func next() -> Int32? {
        var number: UInt8 = 0
        return unsafe read(descriptor, &number, 1) == 1 ? Int32(number) : nil
    }

    /// Delivers a signal to the process as if it had not been caught: the process is terminated, is stopped, or runs its own handler.
    /// Returns when the process continues.
    func deliver(_ number: Int32) {
        guard let action = previous.first(where: { $0.0 == number })?.1 else { return }
        // In this thread the default action takes effect before `raise` returns. A handler may wait for a signal to the whole process.
        _ = allowing(number) { Self.isDefault(action) ? raise(number) : kill(getpid(), number) }
    }

    /// Stops the process group, and this process last: in this thread, before the call returns. Another thread might receive a signal to
    /// the whole process, and only after the watch has been restored.
    func stopGroup(_ number: Int32) {
        if previous.contains(where: { $0.0 == number }) { signal(number, SIG_IGN) }
        kill(0, number)
        _ = allowing(number) { raise(number) }
    }

    /// Makes a call while the signal has its original action and is not blocked in this thread.
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

    /// Whether the signal is ignored, such as under nohup. It is then not caught, so that it stays ignored.
    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func isDefault(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
}
