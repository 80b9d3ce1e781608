internal import Synchronization

#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#else
    package import Darwin
#endif

/// A pipe to which a signal handler writes the numbers of the signals that it catches.
///
/// A signal handler may only call async-signal-safe functions, such as write(2). Once ``catches(_:flags:)`` has returned, no signal is
/// lost. A libdispatch signal source is registered on another thread some time after its activation, and earlier signals are lost.
///
/// A process has two of them, because a prompt catches signals that the process already catches, and delivers them to it afterwards.
package struct SignalPipe: Sendable {
    /// The pipe of the signals that end the process; nil if it cannot be created, for which errno has the reason.
    package static let process = SignalPipe {
        processEnd.store($0, ordering: .sequentiallyConsistent)
    } handler: { number in
        SignalPipe.send(number, to: SignalPipe.processEnd.load(ordering: .sequentiallyConsistent))
    }
    /// The pipe of the signals that arrive while a prompt is open; nil if it cannot be created.
    package static let prompt = SignalPipe {
        promptEnd.store($0, ordering: .sequentiallyConsistent)
    } handler: { number in
        SignalPipe.send(number, to: SignalPipe.promptEnd.load(ordering: .sequentiallyConsistent))
    }

    // The write ends are not properties of the pipes, because a handler cannot wait for the initialization of those.
    private static let processEnd = Atomic<Int32>(-1)
    private static let promptEnd = Atomic<Int32>(-1)

    /// The read end, which does not block. Neither end is ever closed, because a handler in another thread may be about to write.
    package let descriptor: Int32
    private let writeEnd: Int32
    private let handler: @Sendable @convention(c) (Int32) -> Void

    private init?(storing: (Int32) -> Void, handler: @escaping @Sendable @convention(c) (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, writeEnd, self.handler) = (ends[0], ends[1], handler)
        storing(writeEnd)
    }

    /// Catches a signal in place of its present action, and returns that action. A signal that is ignored, such as under nohup, is not
    /// caught, so that it stays ignored: then this returns nil, as it does if the signal cannot be caught.
    ///
    /// - Parameter flags: The flags of sigaction(2), such as `SA_RESTART`.
    package func catches(_ number: Int32, flags: Int32 = 0) -> sigaction? {
        guard let previous = Self.action(of: number), !Self.isIgnored(previous) else { return nil }
        var action = sigaction()
        action.sa_flags = flags
        unsafe action.__sigaction_handler.sa_handler = handler
        return unsafe sigaction(number, &action, nil) == 0 ? previous : nil
    }

    /// Writes a number as if its signal had arrived; 0 is no signal.
    package func put(_ number: Int32) { Self.send(number, to: writeEnd) }

    /// The number of a signal that has arrived; nil if there is none.
    package func next() -> Int32? {
        var number: UInt8 = 0
        return unsafe read(descriptor, &number, 1) == 1 ? Int32(number) : nil
    }

    /// Discards the signals that have arrived.
    package func discard() { while next() != nil {} }

    /// The present action of a signal; nil if there is no such signal.
    private static func action(of number: Int32) -> sigaction? {
        var action = sigaction()
        return unsafe sigaction(number, nil, &action) == 0 ? action : nil
    }

    /// Whether a signal is ignored, or cannot be caught.
    package static func isIgnored(_ number: Int32) -> Bool { action(of: number).map(isIgnored) ?? true }

    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func send(_ number: Int32, to end: Int32) {
        var byte = UInt8(truncatingIfNeeded: number)
        let saved = errno
        unsafe _ = write(end, &byte, 1)
        errno = saved
    }
}
