internal import CKerberos
internal import Synchronization

extension KerberosClient {
    /// Signs in with a certificate, and once more if the KDC's reply cannot be decrypted with the key of the exchange.
    ///
    /// Heimdal's KDC, which Samba contains, derives a wrong key if the result of the Diffie-Hellman exchange begins with a zero byte: in
    /// one of 256 sign-ins. A new exchange has another result.
    ///
    /// - Parameter attempt: Signs in with the given prompter, which gives the user's answers again in the second attempt.
    static func repeatingUnreadableReply(
        _ prompter: any Prompter,
        _ attempt: (any Prompter) async throws(KerberosError) -> Credential
    ) async throws(KerberosError) -> Credential {
        let answers = KeptAnswers(of: prompter)
        defer { answers.forget() }
        do throws(KerberosError) {
            return try await attempt(answers)
        } catch  where error.isUnreadableReply {
            answers.repeatAll()
            return try await attempt(answers)
        }
    }
}

extension KerberosError {
    /// What libkrb5's trace says of such a reply. Its error is only that it got no password, for which it then asks.
    private static let unreadableText = "Decrypt with preauth AS key failed"

    /// Whether a line of the trace, `[process] time: message`, reports a reply that cannot be decrypted.
    static func isUnreadableReply(trace line: String) -> Bool {
        guard let start = line.firstRange(of: ": ") else { return false }
        return line[start.upperBound...].hasPrefix(unreadableText)
    }

    /// The error for a KDC's reply that cannot be decrypted with the key of a sign-in with a certificate.
    static func unreadableReply(subject: String) -> KerberosError {
        KerberosError(
            .certificateRefused,
            subject: subject,
            message:
                "the KDC's reply cannot be decrypted with the key of the sign-in, also in a second attempt. Try again, and if the error "
                + "remains, ask the realm's administrator whether the KDC is up to date.",
            libraryCode: krb5_error_code(truncatingIfNeeded: KRB5KRB_AP_ERR_BAD_INTEGRITY),
            libraryMessage: unreadableText
        )
    }

    /// A KDC may send the same code, but with another text.
    fileprivate var isUnreadableReply: Bool { code == .certificateRefused && libraryMessage == Self.unreadableText }
}

/// Keeps the answers of a prompter, and gives them again to the same prompts of a second exchange, so that the user enters a PIN once.
private final class KeptAnswers: Prompter {
    private struct Answered {
        let texts: [String]
        let answers: [Secret]
    }

    private struct State {
        var kept: [Answered] = []
        /// The answers of the first exchange that were not given again yet.
        var remaining: ArraySlice<Answered> = []
        var isOver = false
    }

    private let prompter: any Prompter
    private let state = Mutex(State())

    init(of prompter: any Prompter) { self.prompter = prompter }

    /// Begins with the first answer again.
    func repeatAll() { state.withLock { $0.remaining = $0.kept[...] } }

    /// Forgets all answers. An abandoned call of libkrb5 may keep the prompter for a long time.
    func forget() { state.withLock { $0 = State(isOver: true) } }

    func answers(to request: PromptRequest) throws -> [Secret] {
        let texts = request.prompts.map(\.text)
        let known = state.withLock { state in
            let next = state.remaining.popFirst()
            if next?.texts != texts { state.remaining = [] }
            return next?.texts == texts ? next?.answers : nil
        }
        if let known { return known }
        let answers = try prompter.answers(to: request)
        state.withLock { if !$0.isOver { $0.kept.append(Answered(texts: texts, answers: answers)) } }
        return answers
    }

    func cancel(_ request: PromptRequest) { prompter.cancel(request) }
}
