#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// Exits the process of an exit test immediately. In a normal exit libkrb5 destroys its locks, which fails while an abandoned call is still
/// using them.
public func endChildProcess() -> Never {
    fflush(nil)
    _exit(EXIT_SUCCESS)
}
