import Foundation
import TestSupport
import Testing

/// Which tests leave the threads that all Swift tasks share to the others.
struct SeparateThreadsTests {
    /// The name that Dispatch gives to a thread that does not count against the number of processors.
    private func isAdditional() throws -> Bool {
        let name = try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return name.hasSuffix("overcommit\n")
    }

    @Test(.computation) func `a test that computes for long has a thread of its own`() throws { #expect(try isAdditional()) }

    @Test(.exitTest) func `an exit test has a thread of its own`() async throws {
        await Task.yield()
        #expect(try isAdditional())
    }

    @Test func `other tests share their threads`() throws { #expect(try !isAdditional()) }
}
