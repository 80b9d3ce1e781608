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

/// The descriptors that this process had open at a time.
struct OpenDescriptors {
    private let numbers: Set<Int32>

    /// Those that are open now.
    static var current: OpenDescriptors {
        // One of those that are listed is that of the listing itself.
        OpenDescriptors(numbers: listed.filter { fcntl($0, F_GETFD) >= 0 })
    }

    /// Has the others closed where a program takes this process's place: libkrb5 leaves the file of its trace open for it.
    func closeOthersOnReplacement() {
        for number in Self.listed.subtracting(numbers) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    private static var listed: Set<Int32> {
        Set(((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) })
    }
}
