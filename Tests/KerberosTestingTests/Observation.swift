import Foundation
import KerberosTesting
import Testing

/// Returns the processes whose environment contains a folder: the KDC, the web server and their watcher. A zombie has no environment.
func processes(of directory: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.filter { name in
        guard Int(name) != nil, let text = String.contents(ofKernelFile: "/proc/\(name)/environ") else { return false }
        return text.contains(directory)
    }
}

/// Expects that a folder and its processes no longer exist.
func expectGone(_ directory: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(!directory.isEmpty, sourceLocation: sourceLocation)
    #expect(!FileManager.default.fileExists(atPath: directory), sourceLocation: sourceLocation)
    #expect(processes(of: directory).isEmpty, sourceLocation: sourceLocation)
}

/// Waits until a condition that depends on another process or task is true, for at most a minute.
func eventually(
    _ condition: () throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let deadline = ContinuousClock.now.advanced(by: .seconds(60))
    while try !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record("The condition was not true within a minute.", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))  // not a busy loop, because the other process needs the processor
    }
}

/// Returns the number of established connections to a port of 127.0.0.1, counted at the server's end.
func queuedConnections(to port: Int) -> Int {
    let address = "0100007F:" + String(format: "%04X", port)
    let lines = (String.contents(ofKernelFile: "/proc/net/tcp") ?? "").split(separator: "\n")
    return lines.map { $0.split(separator: " ") }.count { $0.count > 3 && $0[1] == address && $0[3] == "01" }
}
