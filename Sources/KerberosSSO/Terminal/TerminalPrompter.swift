internal import Foundation
public import Kerberos
internal import Synchronization

/// Asks on the terminal that controls the process, `/dev/tty`: standard input and output may be redirected.
///
/// A hidden answer is not echoed. The terminal is as before on every way out: an answer, Ctrl-C, Ctrl-\, a signal from outside; and
/// while the process is stopped by Ctrl-Z, after which the question is asked again.
public struct TerminalPrompter: Prompter {
    /// One question at a time in a process: two on one terminal would mix their answers.
    private static let turn = Mutex(())
    /// Whose turn it is.
    private static let open = Mutex<PromptRequest.ID?>(nil)

    /// A prompter for the controlling terminal.
    public init() {}

    /// Asks each question in turn. Throws `PromptRefusal.notInteractive` when the process has no terminal.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        let result = Self.turn.withLock { _ in
            Result {
                Self.open.withLock { $0 = request.id }
                defer { Self.open.withLock { $0 = nil } }
                // It may have been called off while another one was open.
                guard !request.isCanceled else { throw PromptRefusal.canceled }
                return try ask(request)
            }
        }
        return try result.get()
    }

    /// Ends the question, if it is open; the terminal is restored.
    public func cancel(_ request: PromptRequest) {
        Self.open.withLock { if $0 == request.id { SignalWatch.cancel() } }
    }

    private func ask(_ request: PromptRequest) throws -> [Secret] {
        let terminal = try Terminal()
        if let banner = request.banner, !banner.isEmpty { terminal.write("\(banner.escapedForDisplay(keepingLines: true))\n") }
        return try request.prompts.map { prompt in
            try terminal.ask("\(prompt.text.escapedForDisplay()): ", isHidden: prompt.isHidden)
        }
    }
}

extension Prompter where Self == TerminalPrompter {
    /// Asks on the terminal that controls the process.
    public static var terminal: TerminalPrompter { TerminalPrompter() }
}

/// One open controlling terminal. Not Sendable: it belongs to the thread that asks.
struct Terminal: ~Copyable {
    private let descriptor: Int32

    init() throws(PromptRefusal) {
        descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .notInteractive }
    }

    deinit { close(descriptor) }

    func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in unsafe Foundation.write(descriptor, bytes.baseAddress, bytes.count) }
            if count < 0 && errno != EINTR { return }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Asks until there is an answer. Throws `PromptRefusal/canceled` at Ctrl-C and at the end of input.
    func ask(_ question: String, isHidden: Bool) throws(PromptRefusal) -> Secret {
        let signals = try SignalWatch()
        while true {
            try waitForForeground(signals)
            var event = Event.end
            let settings = try hideEcho(isHidden)
            switch settings {
            case .interrupted:
                event = signals.next().map(Event.signal) ?? .end
            case .unchanged:
                write(question)
                event = readLine(signals)
            case .changed(let saved):
                write(question)
                event = readLine(signals)
                restore(saved)
            }
            if isHidden || !event.isLine { write("\n") }
            switch event {
            case .line(let answer): return answer
            case .end: throw .canceled
            case .signal(let number):
                let stops = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU
                if number == SIGINT || number == SignalWatch.canceled { throw .canceled }
                signals.deliver(number)  // ends or stops the process, unless the program handles it
                if !stops { throw .canceled }
            }
        }
    }

    /// Stops while the process is in the background, as the kernel stops whoever touches the terminal from there; `fg` ends the wait.
    ///
    /// Not left to the kernel: it would let a thread through that blocks the signal, as the threads of a dispatch queue do, and it would
    /// stop the process anew before a signal that came meanwhile is looked at.
    private func waitForForeground(_ signals: borrowing SignalWatch) throws(PromptRefusal) {
        let clock = ContinuousClock()
        var rounds = 0
        while tcgetpgrp(descriptor) != getpgrp() {
            let start = clock.now
            signals.stopGroup(SIGTTOU)
            // The stop takes effect in here, and what came with the continuation has a moment to arrive.
            var waiting = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&waiting, 1, 50)
            while let number = signals.next() {
                if number == SIGINT || number == SignalWatch.canceled { throw .canceled }
                if [SIGTSTP, SIGTTIN, SIGTTOU].contains(number) { continue }
                signals.deliver(number)
                throw .canceled
            }
            // Nobody is left who could stop and continue an orphaned process: the kernel drops the signal.
            rounds = clock.now - start < .milliseconds(150) ? rounds + 1 : 0
            if rounds > 20 { throw .notInteractive }
        }
    }

    private enum Event {
        case line(Secret)
        case end
        case signal(Int32)

        var isLine: Bool { if case .line = self { true } else { false } }
    }

    private enum Settings {
        case unchanged
        case changed(restoring: termios)
        /// A process in the background may not touch the terminal: the kernel sent it a signal instead.
        case interrupted
    }

    private func hideEcho(_ isHidden: Bool) throws(PromptRefusal) -> Settings {
        guard isHidden else { return .unchanged }
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { throw .notInteractive }
        let saved = settings
        settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        settings.c_lflag |= tcflag_t(ICANON | ISIG)
        // TCSAFLUSH: what was typed before the question is no answer to it.
        if unsafe tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 { return .changed(restoring: saved) }
        if errno == EINTR { return .interrupted }
        throw .notInteractive
    }

    private func restore(_ saved: termios) {
        var saved = saved
        while unsafe tcsetattr(descriptor, TCSAFLUSH, &saved) != 0 && errno == EINTR {}
    }

    /// Waits for a line or a signal, whichever is first.
    private func readLine(_ signals: borrowing SignalWatch) -> Event {
        var line: [UInt8] = []
        defer { unsafe line.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        line.reserveCapacity(1024)
        while true {
            var waiting = [
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            if unsafe poll(&waiting, 2, -1) < 0 && errno != EINTR { return .end }
            if let number = signals.next() { return .signal(number) }
            guard waiting[1].revents != 0 else { continue }
            var byte: UInt8 = 0
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return .end }
            if byte == UInt8(ascii: "\n") { return .line(Secret(bytes: line)) }
            guard line.count < 1023 else { continue }
            line.append(byte)
        }
    }
}
