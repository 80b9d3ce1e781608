import Foundation
import KerberosTesting
import Testing

/// Polls a condition that another process fulfills until it is true, for one minute at most.
func eventually(_ condition: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    guard try await !holds(within: .seconds(60), condition) else { return }
    Issue.record("The condition was not true within one minute.", sourceLocation: sourceLocation)
}

/// Polls a condition that another process fulfills until it is true or the time has passed.
func holds(within time: Duration, _ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now.advanced(by: time)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(5))  // not a busy loop, because the other process needs the processor
    }
    return true
}

/// The arguments, as `ps` shows them, of every process whose environment contains a folder.
func visibleArguments(of directory: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { name in
        guard Int(name) != nil, let text = String.contents(ofKernelFile: "/proc/\(name)/environ"), text.contains(directory) else {
            return nil
        }
        return String.contents(ofKernelFile: "/proc/\(name)/cmdline")
    }
}

/// The state, as `ps` prints it, of each process whose arguments start with a text and whose environment contains a folder.
func visibleStates(of arguments: String, in directory: String) -> [Character] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { name in
        guard Int(name) != nil, String.contents(ofKernelFile: "/proc/\(name)/cmdline")?.hasPrefix(arguments) == true,
            String.contents(ofKernelFile: "/proc/\(name)/environ")?.contains(directory) == true,
            let text = String.contents(ofKernelFile: "/proc/\(name)/stat"), let end = text.lastIndex(of: ")")
        else { return nil }
        return text[text.index(after: end)...].first { $0 != " " }
    }
}
