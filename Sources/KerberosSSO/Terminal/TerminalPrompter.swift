internal import Foundation
public import Kerberos
internal import Synchronization
internal import SystemSupport

/// Prompts on the controlling terminal, `/dev/tty`, so that standard input and output may be redirected.
///
/// A hidden answer is not echoed; an empty password repeats the prompt. The terminal's settings are restored in all cases: after an answer,
/// Ctrl-C, Ctrl-\ or a signal, and while the process is stopped by Ctrl-Z. The prompt is repeated when the process continues.
public struct TerminalPrompter: Prompter {
    /// Allows one prompt at a time in a process, because two on one terminal would mix their answers.
    private static let turn = Mutex(())
    /// The request whose prompt is open.
    private static let open = Mutex<PromptRequest.ID?>(nil)

    /// Creates a prompter for the controlling terminal.
    public init() {}

    /// Shows one prompt after the other. Throws `PromptRefusal.notInteractive` if the process has no terminal.
    public func answers(to request: PromptRequest) throws -> [Secret] {
        let result = Self.turn.withLock { _ in
            Result {
                Self.open.withLock { $0 = request.id }
                defer { Self.open.withLock { $0 = nil } }
                // The request may have been canceled while another prompt was open.
                guard !request.isCanceled else { throw PromptRefusal.canceled }
                return try ask(request)
            }
        }
        return try result.get()
    }

    /// Cancels the prompt if it is open. The terminal is restored.
    public func cancel(_ request: PromptRequest) {
        Self.open.withLock { if $0 == request.id { PromptSignals.cancel() } }
    }

    private func ask(_ request: PromptRequest) throws -> [Secret] {
        let terminal = try Terminal()
        if let banner = request.banner, !banner.isEmpty { terminal.write("\(banner.escapedForDisplay(keepingLines: true))\n") }
        return try request.prompts.map { prompt in
            while true {
                let answer = try terminal.ask("\(prompt.text.escapedForDisplay()): ", isHidden: prompt.isHidden, for: request)
                // An empty password would only cost one of the attempts before the account is locked. An empty code may request a message.
                let isPassword = [.password, .newPassword, .newPasswordAgain].contains(prompt.kind)
                guard isPassword, answer.isEmpty else { return answer }
            }
        }
    }
}

extension Prompter where Self == TerminalPrompter {
    /// Prompts on the controlling terminal.
    public static var terminal: TerminalPrompter { TerminalPrompter() }
}

/// An open controlling terminal. It is not `Sendable`, because it belongs to the thread that prompts.
struct Terminal: ~Copyable {
    private let descriptor: Int32
    /// The longest line of a terminal in bytes, without its end. libkrb5 refuses answers that are shorter than this, but too long for it.
    private static let lineLimit = 4095

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

    /// Prompts until there is an answer. Throws `PromptRefusal/canceled` on Ctrl-C, at the end of input, and after any other signal that
    /// does not stop the process; also if the request is canceled.
    func ask(_ question: String, isHidden: Bool, for request: PromptRequest) throws(PromptRefusal) -> Secret {
        let signals = try PromptSignals()
        // The initializer has discarded a cancellation that came before it.
        guard !request.isCanceled else { throw .canceled }
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
                if number == SIGINT || number == PromptSignals.canceled { throw .canceled }
                signals.deliver(number)  // terminates or stops the process, unless it handles the signal
                if !stops { throw .canceled }
            }
        }
    }

    /// Stops the process while it is in the background, as the kernel does when a background process uses the terminal; `fg` continues it.
    ///
    /// The kernel cannot do this: it does not stop a thread that blocks the signal, as a dispatch queue's threads do, and it would stop the
    /// process again before a signal that arrived meanwhile is handled.
    private func waitForForeground(_ signals: borrowing PromptSignals) throws(PromptRefusal) {
        let clock = ContinuousClock()
        var rounds = 0
        while tcgetpgrp(descriptor) != getpgrp() {
            let start = clock.now
            signals.stopGroup(SIGTTOU)
            // The process stops during this call. Signals that arrive with the continuation have some time to be received.
            var waiting = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&waiting, 1, 50)
            while let number = signals.next() {
                if number == SIGINT || number == PromptSignals.canceled { throw .canceled }
                if [SIGTSTP, SIGTTIN, SIGTTOU].contains(number) { continue }
                signals.deliver(number)
                throw .canceled
            }
            // An orphaned process group has no parent that could continue it, so the kernel drops the signal.
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
        /// The process is in the background and must not use the terminal; the kernel sent it a signal instead.
        case interrupted
    }

    private func hideEcho(_ isHidden: Bool) throws(PromptRefusal) -> Settings {
        guard isHidden else { return .unchanged }
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { throw .notInteractive }
        let saved = settings
        settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        settings.c_lflag |= tcflag_t(ICANON | ISIG)
        // TCSAFLUSH discards what was typed before the prompt.
        if unsafe tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 { return .changed(restoring: saved) }
        if errno == EINTR { return .interrupted }
        throw .notInteractive
    }

    private func restore(_ saved: termios) {
        var saved = saved
        while unsafe tcsetattr(descriptor, TCSAFLUSH, &saved) != 0 && errno == EINTR {}
    }

    /// Reads a line, unless a signal arrives first.
    private func readLine(_ signals: borrowing PromptSignals) -> Event {
        var line: [UInt8] = []
        defer { unsafe line.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        line.reserveCapacity(Self.lineLimit)
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
            guard line.count < Self.lineLimit else { continue }
            line.append(byte)
        }
    }
}
