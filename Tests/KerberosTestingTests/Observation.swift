import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Expects that a folder and its processes no longer exist.
func expectGone(_ directory: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(!directory.isEmpty, sourceLocation: sourceLocation)
    #expect(!FileManager.default.fileExists(atPath: directory), sourceLocation: sourceLocation)
    #expect(processes(of: directory).isEmpty, sourceLocation: sourceLocation)
}

/// Returns the number of established connections to a port of 127.0.0.1, counted at the server's end.
func queuedConnections(to port: Int) -> Int {
    let address = "0100007F:" + String(format: "%04X", port)
    let lines = (String.contents(ofKernelFile: "/proc/net/tcp") ?? "").split(separator: "\n")
    return lines.map { $0.split(separator: " ") }.count { $0.count > 3 && $0[1] == address && $0[3] == "01" }
}
