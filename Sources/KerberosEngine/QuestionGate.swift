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
