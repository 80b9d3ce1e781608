internal import Foundation

/// A program that takes this process's place (execve(2)).
struct ProcessReplacement {
    var path: String
    var arguments: [String]
    var environment: [String: String]

    /// Becomes the program; returns only if that fails, with the reason. It starts with no signal blocked, unlike the threads of a dispatch
    /// queue.
    func begin() -> Int32 {
        var arguments: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var mask = sigset_t()
        sigemptyset(&mask)
        pthread_sigmask(SIG_SETMASK, &mask, nil)
        execve(path, &arguments, &variables)
        return errno
    }
}
