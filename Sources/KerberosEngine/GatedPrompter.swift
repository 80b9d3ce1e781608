internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// Asks for one sign-in, where the gate lets its question through: from the first that is asked on until the sign-in has ended.
final class GatedPrompter: Prompter {
    private enum State {
        case unasked
        case open
        /// Why nobody may be asked.
        case refused(KerberosError)
        case ended
    }

    private let prompter: any Prompter
    private let question: Question
    private let gate: QuestionGate
    private let clock: @Sendable () -> Date
    private let state = Mutex(State.unasked)

    init(_ prompter: any Prompter, _ question: Question, _ gate: QuestionGate, clock: @escaping @Sendable () -> Date) {
        self.prompter = prompter
        self.question = question
        self.gate = gate
        self.clock = clock
    }

    /// Why nobody was asked; nil where somebody was, or nothing was to be asked.
    var refusal: KerberosError? {
        state.withLock { state in if case .refused(let error) = state { error } else { nil } }
    }

    /// Goes through the gate, unless that was done.
    func open() throws(KerberosError) {
        try state.withLock { state throws(KerberosError) in
            switch state {
            case .open: return
            case .refused(let error): throw error
            case .ended: throw KerberosError(.canceled, subject: question.principal.description, message: "canceled.")
            case .unasked:
                do throws(KerberosError) {
                    try gate.open(question, now: clock())
                    state = .open
                } catch {
                    state = .refused(error)
                    throw error
                }
            }
        }
    }

    /// The sign-in has ended. A call of libkrb5's that nobody waits for any more may yet come to its question.
    func end() {
        state.withLock { state in
            if case .open = state { gate.close(question) }
            state = .ended
        }
    }

    func answers(to request: PromptRequest) throws -> [Secret] {
        do {
            try open()
        } catch {
            throw PromptRefusal.notInteractive
        }
        return try prompter.answers(to: request)
    }

    func cancel(_ request: PromptRequest) { prompter.cancel(request) }
}
