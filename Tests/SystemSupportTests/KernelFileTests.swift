import Foundation
import SystemSupport
import Testing

/// Files of /proc, which the kernel returns in parts.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/maps"), "there is no /proc"))
struct KernelFileTests {
    @Test func `a file of the kernel is read to its end`() throws {
        let text = try #require(KernelFile.text("/proc/self/maps"))
        // The kernel returns a page at a time. The stack's line is among the last ones.
        #expect(text.utf8.count > 8192 && text.hasSuffix("\n") && text.contains("[stack]"))
    }

    @Test func `a missing file and a folder have no text`() {
        #expect(KernelFile.text("/proc/self/none") == nil)
        #expect(KernelFile.text("/proc/self") == nil)
    }
}
