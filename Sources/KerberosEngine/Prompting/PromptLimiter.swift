internal import Foundation
internal import Kerberos
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

/// Limits the prompts: one at a time per principal, a few at a time in total, and none for a while after one was canceled or timed out.
///
/// A principal's prompts for the password and for certificate PINs count together: a person who canceled one of them does not want another.
final class PromptLimiter: Sendable {
    private struct Open {
        let question: Question
        /// The number of sign-ins with this question. A canceled one may end after the next has begun.
        var count = 1
    }

    private struct State {
        var refusals: [Principal: Date] = [:]
        var open: [Principal: Open] = [:]
    }

    private let state = Mutex(State())

    /// How long a principal's prompts are refused after a cancellation, in seconds.
    private static let pause = 300.0
    /// The maximum number of open prompts. More windows would confuse the user.
    static let limit = 8

    /// Begins a question, which ``close(_:)`` ends.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - now: The present time.
    ///   - isWanted: Whether a person has just asked for the prompt, so that an earlier cancellation does not count.
    /// - Throws: `KerberosError`; `canceled` if a prompt for the principal was canceled recently, `notInteractive` if other prompts are
    ///   open.
    func open(_ question: Question, now: Date, isWanted: Bool = false) throws(KerberosError) {
        try state.withLock { state throws(KerberosError) in
            state.refusals = state.refusals.filter { abs(now.timeIntervalSince($0.value)) < Self.pause }
            if !isWanted, let date = state.refusals[question.principal] { throw .unanswered(question, date) }
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

    /// Ends a question.
    func close(_ question: Question) {
        state.withLock { state in
            guard var open = state.open[question.principal] else { return }
            open.count -= 1
            state.open[question.principal] = open.count == 0 ? nil : open
        }
    }

    /// Records that the person canceled.
    func refuse(_ principal: Principal, at date: Date) { state.withLock { $0.refusals[principal] = date } }

    /// Records that the person answered.
    func forget(_ principal: Principal) { state.withLock { $0.refusals[principal] = nil } }
}

extension KerberosError {
    fileprivate static func unanswered(_ question: Question, _ date: Date) -> KerberosError {
        let message =
            "the prompt for the password or PIN was not answered at \(date.localText). Sign in with: \(question.command)"
        return KerberosError(.canceled, subject: question.principal.description, message: message)
    }

    fileprivate static func occupied(_ question: Question) -> KerberosError {
        let message = "another prompt is open for \(question.principal). Answer it and try again, or sign in with: \(question.command)"
        return KerberosError(.notInteractive, subject: question.principal.description, message: message)
    }

    fileprivate static func crowded(_ question: Question) -> KerberosError {
        let message =
            "\(PromptLimiter.limit) prompts for passwords or PINs are open. Answer one and try again, or sign in with: \(question.command)"
        return KerberosError(.notInteractive, subject: question.principal.description, message: message)
    }
}

/// What a sign-in prompts for: the password or whatever else the KDC requires, or the PIN of a credential. A certificate may require none.
///
/// Callers share a prompt only if the profiles have the same rules for the sign-in: an open prompt from before a change of the profiles
/// belongs to a sign-in under the earlier rules.
struct Question {
    let principal: Principal
    /// The rules of the profiles of the principal's realm.
    private let rules: [Rules]
    /// The credential of the sign-in.
    private let credential: any SignInCredential

    /// Creates the question for a source, regardless of its prompter.
    init(of principal: Principal, _ source: InitialCredentialSource, under policy: DecisionPolicy) {
        self.principal = principal
        rules = policy.configurations.filter { $0.realm == principal.realm }.map(Rules.init)
        credential = source.kind
    }

    /// What a profile decides about a sign-in.
    private struct Rules: Hashable {
        let signIn: SignInRules
        let kdcs: [PreferredKDC]
        let passwords: PasswordRules

        init(_ configuration: ExtensionConfiguration) {
            (signIn, kdcs, passwords) = (configuration.signIn, configuration.preferredKDCs, configuration.passwords)
        }
    }

    /// Whether the sign-in always prompts.
    var alwaysPrompts: Bool { credential is PasswordCredential }

    /// The source of a sign-in with this question.
    func source(_ prompter: any Prompter) -> InitialCredentialSource { credential.source(askedBy: prompter) }

    /// The command that asks the same question at a terminal.
    var command: String { "ksso login \(principal)\(credential.loginArguments)" }
}

extension Question: Hashable {
    static func == (left: Question, right: Question) -> Bool {
        left.principal == right.principal && left.rules == right.rules && left.credential.acquisition == right.credential.acquisition
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(principal)
        hasher.combine(credential.acquisition)
    }
}

/// The prompter of one sign-in, which prompts only if the limiter permits it. The question stays open from the first prompt until the
/// sign-in ends.
final class LimitedPrompter: Prompter {
    private enum State {
        case unasked
        case open
        /// Why prompting is not allowed.
        case refused(KerberosError)
        case ended
    }

    private let prompter: any Prompter
    private let question: Question
    private let limiter: PromptLimiter
    private let isWanted: Bool
    private let clock: @Sendable () -> Date
    private let state = Mutex(State.unasked)

    init(
        _ prompter: any Prompter,
        _ question: Question,
        _ limiter: PromptLimiter,
        isWanted: Bool = false,
        clock: @escaping @Sendable () -> Date
    ) {
        self.prompter = prompter
        self.isWanted = isWanted
        self.question = question
        self.limiter = limiter
        self.clock = clock
    }

    /// Why prompting was not allowed; nil if it was allowed or there was nothing to ask.
    var refusal: KerberosError? {
        state.withLock { state in if case .refused(let error) = state { error } else { nil } }
    }

    /// Opens the question in the limiter, unless it is open already.
    func open() throws(KerberosError) {
        try state.withLock { state throws(KerberosError) in
            switch state {
            case .open: return
            case .refused(let error): throw error
            case .ended: throw KerberosError(.canceled, subject: question.principal.description, message: "canceled.")
            case .unasked:
                do throws(KerberosError) {
                    try limiter.open(question, now: clock(), isWanted: isWanted)
                    state = .open
                } catch {
                    state = .refused(error)
                    throw error
                }
            }
        }
    }

    /// Records that the sign-in has ended. A libkrb5 call that was abandoned may still try to prompt.
    func end() {
        state.withLock { state in
            if case .open = state { limiter.close(question) }
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
