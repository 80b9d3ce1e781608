internal import Foundation
internal import Kerberos
internal import Synchronization

/// Catches the signals that would end or stop the process, for the time a question is open, and hands them on afterwards.
///
/// A handler may only do what is safe between any two instructions: it writes the signal's number to a pipe.
struct SignalWatch: ~Copyable {
    /// Readable when a signal came.
    let descriptor: Int32
    private let writeEnd: Int32
    private let previous: [(Int32, sigaction)]

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU]
    /// The write end of the one watch that is active; -1 when there is none.
    private static let active = Atomic<Int32>(-1)

    /// One watch at a time: two questions on one terminal would mix their answers.
    static func begin() throws(PromptRefusal) -> SignalWatch {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw .notInteractive }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        guard active.compareExchange(expected: -1, desired: ends[1], ordering: .sequentiallyConsistent).exchanged else {
            close(ends[0])
            close(ends[1])
            throw .notInteractive
        }
        return SignalWatch(descriptor: ends[0], writeEnd: ends[1])
    }

    private init(descriptor: Int32, writeEnd: Int32) {
        self.descriptor = descriptor
        self.writeEnd = writeEnd
        previous = Self.signals.compactMap { number in Self.install(number).map { (number, $0) } }
    }

    deinit {
        for (number, action) in previous { Self.restore(number, action) }
        Self.active.store(-1, ordering: .sequentiallyConsistent)
        close(descriptor)
        close(writeEnd)
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
            unsafe _ = write(SignalWatch.active.load(ordering: .sequentiallyConsistent), &byte, 1)
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
