internal import Dispatch
internal import Foundation
internal import Kerberos

/// A process that is not mistaken for a later one of the same number.
struct RunningProcess: Equatable {
    let processID: Int32
    /// When it started, in the kernel's ticks since the machine did.
    let started: UInt64

    init(processID: Int32, started: UInt64) {
        self.processID = processID
        self.started = started
    }

    /// The process of a number; nil where there is none.
    init?(processID: Int32) {
        guard let started = Self.start(of: processID) else { return nil }
        self.init(processID: processID, started: started)
    }

    /// This process. What it becomes by execve(2) is the same one.
    static var current: RunningProcess? { RunningProcess(processID: getpid()) }

    /// Whether it runs. One that has ended and that nobody has waited for does not.
    var isRunning: Bool { Self.start(of: processID) == started }

    /// Waits until it has ended, or the task is canceled.
    func waitForEnd() async {
        let descriptor = ProcessDescriptor.open(processID)
        guard descriptor >= 0 else { return await watchForEnd() }
        guard isRunning else {
            close(descriptor)
            return
        }
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        // It is used by its own queue, and canceled from elsewhere, which dispatch sources allow.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        source.setEventHandler { continuation.finish() }
        source.setCancelHandler { close(descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.activate()
        for await _ in ended {}
    }

    /// Where the kernel is older than pidfd_open(2), or forbids it.
    private func watchForEnd() async {
        while isRunning, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(500)) }
    }

    /// Fields 3, 20 and 22 of proc_pid_stat(5); the second one, a name, may hold spaces and parentheses.
    private static func start(of processID: Int32) -> UInt64? {
        guard let file = FileHandle(forReadingAtPath: "/proc/\(processID)/stat"), let data = try? file.readToEnd() else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst().split(separator: " ")
        guard fields.count > 19 else { return nil }
        // While another thread than the first calls execve(2), the first one is a zombie for a moment, and the process lives.
        let hasEnded = (fields[0] == "Z" || fields[0] == "X") && (Int(fields[17]) ?? 0) < 2
        guard !hasEnded else { return nil }
        return UInt64(fields[19])
    }
}
