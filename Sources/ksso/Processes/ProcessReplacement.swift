internal import Foundation

/// A program to execute in this process (execve(2)).
struct ProcessReplacement {
    var path: String
    var arguments: [String]
    var environment: [String: String]

    /// Executes the program; returns the error number only if that fails. The program starts with no blocked signals, unlike the threads of
    /// a dispatch queue.
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

/// The descriptors that this process had open at some time.
struct OpenDescriptors {
    private let numbers: Set<Int32>

    /// The descriptors that are open now.
    static var current: OpenDescriptors {
        // The list includes the descriptor used for listing, which is closed by now.
        OpenDescriptors(numbers: listed.filter { fcntl($0, F_GETFD) >= 0 })
    }

    /// Marks all descriptors opened since then to be closed on execve(2), because libkrb5 leaves its trace file open.
    func closeOthersOnReplacement() {
        for number in Self.listed.subtracting(numbers) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    private static var listed: Set<Int32> {
        Set(((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) })
    }
}
