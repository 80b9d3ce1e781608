internal import Foundation

/// The descriptors 0, 1 and 2, which a shell can close (`ksso status >&-`).
package enum StandardDescriptors {
    /// Opens those that are closed, in a way that reading and writing fail. Otherwise the next file that the process opens would have the
    /// number, and output would be written to it. Call it before anything is opened.
    package static func reserve() {
        for (number, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)] {
            // A new descriptor has the lowest free number.
            if fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", mode) }
        }
    }
}
