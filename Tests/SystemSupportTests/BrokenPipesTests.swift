import Foundation
import SystemSupport
import Testing

@Suite struct BrokenPipesTests {
    /// Without protection, the write would end the process that runs the tests.
    @Test func `a write to a closed connection fails, and does not end the process`() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[0]) }
        close(ends[1])
        for _ in 1...2 {
            let (count, number) = BrokenPipes.ignoring { (write(ends[0], "a", 1), errno) }
            #expect(count == -1 && number == EPIPE)
        }
        // No signal is left that would arrive later.
        var pending = sigset_t()
        sigpending(&pending)
        #expect(sigismember(&pending, SIGPIPE) == 0)
    }

    @Test func `the former mask is restored`() throws {
        var before = sigset_t()
        var inside = sigset_t()
        var after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        BrokenPipes.ignoring { _ = pthread_sigmask(SIG_BLOCK, nil, &inside) }
        pthread_sigmask(SIG_BLOCK, nil, &after)
        #expect(sigismember(&inside, SIGPIPE) == 1)
        #expect(sigismember(&after, SIGPIPE) == sigismember(&before, SIGPIPE))
    }
}
