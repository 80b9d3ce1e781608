internal import Foundation
internal import Kerberos
internal import SystemSupport

/// Catches the signals that would terminate or stop the process while a prompt is open, and delivers them afterwards.
///
/// It restores the previous actions, which may be those of `ProcessSignals`, and its handlers interrupt system calls, so that a prompt
/// notices a signal at once.
struct PromptSignals: ~Copyable {
    private let pipe: SignalPipe
    private let previous: [(Int32, sigaction)]

    /// The value of ``next()`` after the prompt was canceled.
    static let canceled: Int32 = 0

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU]

    /// Installs the handlers. The caller ensures that there is only one instance at a time.
    init() throws(PromptRefusal) {
        guard let pipe = SignalPipe.prompt else { throw .notInteractive }
        pipe.discard()  // what arrived after the last prompt
        self.pipe = pipe
        previous = Self.signals.compactMap { number in pipe.catches(number).map { (number, $0) } }
    }

    deinit {
        for (number, action) in previous { Self.restore(number, action) }
    }

    /// Readable after a signal has arrived.
    var descriptor: Int32 { pipe.descriptor }

    /// Cancels the open prompt, if there is one.
    static func cancel() { SignalPipe.prompt?.put(canceled) }

    /// The number of a signal that has arrived; nil if there is none.
    func next() -> Int32? { pipe.next() }

    /// Delivers a signal to the process as if it had not been caught: the process is terminated, is stopped, or runs its own handler.
    /// Returns when the process continues.
    func deliver(_ number: Int32) {
        guard let action = previous.first(where: { $0.0 == number })?.1 else { return }
        // In this thread the default action takes effect before `raise` returns. A handler may wait for a signal to the whole process.
        _ = allowing(number) { Self.isDefault(action) ? raise(number) : kill(getpid(), number) }
    }

    /// Stops the process group, and this process last: in this thread, before the call returns. Another thread might receive a signal to
    /// the whole process, and only after the handlers have been restored.
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
            _ = pipe.catches(number)
        }
        return call()
    }

    private static func restore(_ number: Int32, _ action: sigaction) {
        var action = action
        unsafe sigaction(number, &action, nil)
    }

    private static func isDefault(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
}
