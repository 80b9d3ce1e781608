import Foundation
import Glibc
import Testing

@testable import NegotiateURLSession

/// Only its user can read the file of a download, from its creation on and with any umask.
@Suite struct DownloadedFileTests {
    @Test func `a downloaded file is created with its final name and permissions`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "downloaded-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        #expect(watch >= 0)
        defer { close(watch) }
        #expect(inotify_add_watch(watch, folder.path, UInt32(IN_CREATE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM)) >= 0)

        let file = DownloadedFile(in: folder)
        try file.append(Data("secret".utf8))
        let url = try file.handOver()

        #expect(events(of: watch) == [UInt32(IN_CREATE)], "no earlier name, and no later change of permissions")
        #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o600)
        #expect(try Data(contentsOf: url) == Data("secret".utf8))
    }

    @Test func `writing to a missing download directory is an error`() {
        let file = DownloadedFile(in: URL(filePath: "/nonexistent/folder"))
        #expect(throws: CocoaError.self) { try file.append(Data([1])) }
    }

    /// The events in the directory, in order.
    private func events(of watch: Int32) -> [UInt32] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(watch, &buffer, buffer.count)
        var (masks, place) = ([UInt32](), 0)
        while place < count {
            let event = buffer[place...].withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
            masks.append(event.mask)
            place += MemoryLayout<inotify_event>.size + Int(event.len)
        }
        return masks
    }
}
