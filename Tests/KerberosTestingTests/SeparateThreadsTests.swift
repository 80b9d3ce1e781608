import TestSupport
import Testing

/// Which tests leave the threads that all Swift tasks share to the others.
struct SeparateThreadsTests {
    @Test(.computation) func `a test that computes for long has a thread of its own`() { #expect(SeparateThreads.areCurrent) }

    @Test(.exitTest) func `an exit test has a thread of its own`() async {
        await Task.yield()
        #expect(SeparateThreads.areCurrent)
    }

    @Test func `other tests share their threads`() { #expect(!SeparateThreads.areCurrent) }
}
