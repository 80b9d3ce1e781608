internal import Foundation

/// Runs the body with a folder of its own with mode 0700, whose path is short enough for a socket, and removes it afterwards.
@discardableResult nonisolated(nonsending) package func withFolder<R>(
    _ body: nonisolated(nonsending) (String) async throws -> R
) async throws -> R {
    let folder = "/tmp/ksso-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}
