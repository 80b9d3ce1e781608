import Foundation
import SystemSupport
import Testing

/// How a signal pipe catches signals. The signals are those that neither libdispatch nor Swift Testing uses.
struct SignalPipeTests {
    /// Raises a signal, also in a thread that blocks signals, as those of tasks do.
    private static func raise(_ number: Int32) {
        var signals = sigset_t()
        var mask = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, &mask)
        pthread_kill(pthread_self(), number)
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    @Test func `a caught signal is read once, and only from its own pipe`() throws {
        let (process, prompt) = (try #require(SignalPipe.process), try #require(SignalPipe.prompt))
        let original = try #require(process.catches(SIGUSR1, flags: SA_RESTART))
        Self.raise(SIGUSR1)
        #expect(process.next() == SIGUSR1 && process.next() == nil && prompt.next() == nil)

        // A prompt's handler replaces the process's, and restores it.
        var outer = try #require(prompt.catches(SIGUSR1))
        Self.raise(SIGUSR1)
        prompt.put(0)
        #expect(prompt.next() == SIGUSR1 && prompt.next() == 0 && prompt.next() == nil && process.next() == nil)
        sigaction(SIGUSR1, &outer, nil)
        Self.raise(SIGUSR1)
        #expect(process.next() == SIGUSR1)

        Self.raise(SIGUSR1)
        process.discard()
        #expect(process.next() == nil)
        var action = original
        sigaction(SIGUSR1, &action, nil)
    }

    @Test func `an ignored signal is not caught, and stays ignored`() throws {
        let former = signal(SIGUSR2, SIG_IGN)
        defer { signal(SIGUSR2, former) }
        let pipe = try #require(SignalPipe.process)
        #expect(pipe.catches(SIGUSR2) == nil && SignalPipe.isIgnored(SIGUSR2))
        Self.raise(SIGUSR2)
        #expect(!SignalPipe.isIgnored(SIGUSR1))
    }

    @Test func `SIGKILL cannot be caught`() throws { #expect(try #require(SignalPipe.process).catches(SIGKILL) == nil) }
}
