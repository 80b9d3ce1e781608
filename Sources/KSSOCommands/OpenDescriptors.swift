internal import Foundation

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
