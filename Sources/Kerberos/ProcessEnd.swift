internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Keeps what is libkrb5's from being freed after libkrb5 itself has gone.
///
/// A process that ends takes the library's locks down, while another thread may be about to let go of the last reference to a context:
/// the library would abort the process. What is not freed then goes with the process.
enum ProcessEnd {
    private static let begun = Atomic(false)
    private static let freeing = Mutex(())

    /// Whether the process is ending. Handlers of `atexit` run before libraries are taken down.
    static var hasBegun: Bool {
        _ = registration
        return begun.load(ordering: .acquiring)
    }

    /// Frees something, unless the process is ending; its end waits for what is being freed now.
    static func free(_ body: () -> Void) {
        freeing.withLock { _ in
            if !hasBegun { body() }
        }
    }

    private static let registration: Void = {
        atexit { freeing.withLock { _ in begun.store(true, ordering: .releasing) } }
    }()
}
