internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

/// Which questions may be put to a person: one at a time for a principal, a few at a time in all, and for a while none where one was not
/// answered.
///
/// A principal's questions for the password and for the PINs of whatever certificates are one matter: who gave up one of them wants no
/// other.
final class QuestionGate: Sendable {
    private struct Open {
        let question: Question
        /// One that was called off may end after the next has begun.
        var count = 1
    }

    private struct State {
        var refusals: [Principal: Date] = [:]
        var open: [Principal: Open] = [:]
    }

    private let state = Mutex(State())

    /// How long who gave up is left in peace, in seconds.
    private static let pause = 300.0
    /// How many questions may be open: more windows than anybody can make sense of.
    static let limit = 8

    /// Begins a question, which ``close(_:)`` ends.
    ///
    /// - Throws: `KerberosError`; `canceled` where a question was not answered a while ago, `notInteractive` where others are open.
    func open(_ question: Question, now: Date) throws(KerberosError) {
        try state.withLock { state throws(KerberosError) in
            state.refusals = state.refusals.filter { abs(now.timeIntervalSince($0.value)) < Self.pause }
            if let date = state.refusals[question.principal] { throw .unanswered(question, date) }
            guard var open = state.open[question.principal] else {
                guard state.open.count < Self.limit else { throw .crowded(question) }
                state.open[question.principal] = Open(question: question)
                return
            }
            guard open.question == question else { throw .occupied(question) }
            open.count += 1
            state.open[question.principal] = open
        }
    }

    /// Ends one that was begun.
    func close(_ question: Question) {
        state.withLock { state in
            guard var open = state.open[question.principal] else { return }
            open.count -= 1
            state.open[question.principal] = open.count == 0 ? nil : open
        }
    }

    /// Somebody gave up.
    func refuse(_ principal: Principal, at date: Date) { state.withLock { $0.refusals[principal] = date } }

    /// Somebody answered.
    func forget(_ principal: Principal) { state.withLock { $0.refusals[principal] = nil } }
}

extension KerberosError {
    fileprivate static func unanswered(_ question: Question, _ date: Date) -> KerberosError {
        let message =
            "the question for the password or PIN was not answered at \(date.localText). Sign in with: \(question.command)"
        return KerberosError(.canceled, subject: question.principal.description, message: message)
    }

    fileprivate static func occupied(_ question: Question) -> KerberosError {
        let message = "another question is open for \(question.principal). Answer it, then try again; or sign in with: \(question.command)"
        return KerberosError(.notInteractive, subject: question.principal.description, message: message)
    }

    fileprivate static func crowded(_ question: Question) -> KerberosError {
        let message =
            "\(QuestionGate.limit) questions for passwords or PINs are open. Answer one, then try again; or sign in with: \(question.command)"
        return KerberosError(.notInteractive, subject: question.principal.description, message: message)
    }
}

/// What a person is asked for, so that somebody signs in.
struct Question: Hashable {
    let principal: Principal
    let answer: Answer

    enum Answer: Hashable {
        /// The password, or whatever else the KDC wants.
        case password
        /// The PIN of a certificate; nil is the configured one. It may want none.
        case pin(certificate: String?)
    }

    /// The same question for a source, whoever answers.
    init(of principal: Principal, _ source: InitialCredentialSource) {
        self.principal = principal
        answer = if case .certificate(let identity, _) = source { .pin(certificate: identity) } else { .password }
    }

    /// With what to sign in, where this one answers.
    func source(_ prompter: any Prompter) -> InitialCredentialSource {
        switch answer {
        case .password: .prompter(prompter)
        case .pin(let certificate): .certificate(certificate, prompter)
        }
    }

    /// What a person can do that programs do not ask for.
    var command: String {
        guard case .pin(let certificate) = answer else { return "ksso login \(principal)" }
        return "ksso login \(principal) --certificate \(certificate ?? "default")"
    }
}

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
