package import Foundation
internal import KerberosTesting
internal import Testing

/// The IDs of the processes whose environment contains a folder, such as the KDC, the web server and their watcher for a realm's folder.
/// A zombie has no environment.
package func processes(of folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.filter { name in
        Int(name) != nil && String.contents(ofKernelFile: "/proc/\(name)/environ")?.contains(folder) == true
    }
}

/// The arguments, as `ps` shows them, of each process whose environment contains a folder. A process that exits meanwhile has none.
package func visibleArguments(of folder: String) -> [String] {
    processes(of: folder).compactMap { String.contents(ofKernelFile: "/proc/\($0)/cmdline") }.filter { !$0.isEmpty }
}

/// The state, as `ps` prints it, of each process whose arguments start with a text and whose environment contains a folder.
package func visibleStates(of arguments: String, in folder: String) -> [Character] {
    processes(of: folder).compactMap { name in
        guard String.contents(ofKernelFile: "/proc/\(name)/cmdline")?.hasPrefix(arguments) == true else { return nil }
        return state(inFolder: "/proc/\(name)")
    }
}

/// Stops a process, and returns when all its threads have stopped. On a busy machine they still run for a while after SIGSTOP has been
/// sent.
package func suspend(_ process: pid_t) async throws {
    kill(process, SIGSTOP)
    let threads = "/proc/\(process)/task"
    try await eventually {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: threads)) ?? []
        return names.allSatisfy { state(inFolder: "\(threads)/\($0)") == "T" }
    }
}

private func state(inFolder folder: String) -> Character? {
    guard let text = String.contents(ofKernelFile: "\(folder)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: end)...].first { $0 != " " }
}
