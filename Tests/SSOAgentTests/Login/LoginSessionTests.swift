import Foundation
import Testing

@testable import SSOAgent

/// How the machine's cache server finds out whether a user has a session.
struct LoginSessionTests {
    @Test func `a user has a session if systemd-logind lists the user, or is not running`() throws {
        let folder = "/tmp/sessions-\(UUID().uuidString)"
        #expect(MachineCache.hasSession(1000, in: folder))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try "NAME=alice\n".write(toFile: "\(folder)/1000", atomically: false, encoding: .utf8)
        #expect(MachineCache.hasSession(1000, in: folder))
        #expect(!MachineCache.hasSession(100, in: folder))
        #expect(!MachineCache.hasSession(10_001, in: folder))
    }
}
