#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Calls of libraries that write to a socket whose other end may be closed.
package enum BrokenPipes {
    /// Runs a closure on this thread. A write to a closed connection fails in it, and does not end the process by SIGPIPE.
    package static func ignoring<Value>(_ body: () throws -> Value) rethrows -> Value {
        var (signals, former, pending) = (sigset_t(), sigset_t(), sigset_t())
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe sigpending(&pending)
        let wasPending = unsafe sigismember(&pending, SIGPIPE) == 1
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &former)
        defer {
            unsafe sigpending(&pending)
            if !wasPending, unsafe sigismember(&pending, SIGPIPE) == 1 {
                // Removes the signal, which is the thread's own.
                var number: Int32 = 0
                unsafe sigwait(&signals, &number)
            }
            unsafe pthread_sigmask(SIG_SETMASK, &former, nil)
        }
        return try body()
    }
}
