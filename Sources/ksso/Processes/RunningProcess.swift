internal import Dispatch
internal import Foundation
internal import Kerberos
internal import SystemSupport

/// A process, identified so that it is not confused with a later one with the same ID.
struct RunningProcess: Equatable {
    let processID: Int32
    /// The start time in clock ticks since the machine started.
    let started: UInt64

    init(processID: Int32, started: UInt64) {
        self.processID = processID
        self.started = started
    }

    /// Finds the process with an ID; nil if there is none.
    init?(processID: Int32) {
        guard let started = Self.start(of: processID) else { return nil }
        self.init(processID: processID, started: started)
    }

    /// This process. It stays the same across execve(2).
    static var current: RunningProcess? { RunningProcess(processID: getpid()) }

    /// Whether the process runs. A zombie does not count as running.
    var isRunning: Bool { Self.start(of: processID) == started }

    /// Waits until the process has ended, or the task is canceled.
    func waitForEnd() async {
        let descriptor = ProcessDescriptor.open(processID)
        guard descriptor >= 0 else { return await watchForEnd() }
        guard isRunning else {
            close(descriptor)
            return
        }
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        // Safe: the source is used on its own queue, and dispatch sources may be canceled from any thread.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        source.setEventHandler { continuation.finish() }
        source.setCancelHandler { close(descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.activate()
        for await _ in ended {}
    }

    /// Polls, if the kernel does not support or permit pidfd_open(2).
    private func watchForEnd() async {
        while isRunning, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(500)) }
    }

    /// Reads fields 3, 20 and 22 of proc_pid_stat(5): the state, the number of threads and the start time. Field 2, the name, may contain
    /// spaces and parentheses.
    private static func start(of processID: Int32) -> UInt64? {
        guard let text = KernelFile.text("/proc/\(processID)/stat") else { return nil }
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst().split(separator: " ")
        guard fields.count > 19 else { return nil }
        // While a thread other than the first calls execve(2), the first thread is briefly a zombie although the process is alive.
        let hasEnded = (fields[0] == "Z" || fields[0] == "X") && (Int(fields[17]) ?? 0) < 2
        guard !hasEnded else { return nil }
        return UInt64(fields[19])
    }
}
