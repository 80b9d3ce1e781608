package import Kerberos
internal import Synchronization

/// A prompter that answers with a closure and records the requests.
package final class RecordingPrompter: Prompter {
    private let recorded = Recorded<PromptRequest>()
    private let answer: @Sendable (PromptRequest) throws -> [Secret]

    package init(_ answer: @escaping @Sendable (PromptRequest) throws -> [Secret]) {
        self.answer = answer
    }

    /// Gives the same answer to every prompt.
    package convenience init(answer: String) { self.init { request in request.prompts.map { _ in Secret(answer) } } }

    package var requests: [PromptRequest] { recorded.all }

    package func answers(to request: PromptRequest) throws -> [Secret] {
        recorded.append(request)
        return try answer(request)
    }
}

/// A prompter that refuses every request as one without a terminal does.
package struct RefusingPrompter: Prompter {
    package init() {}

    package func answers(to request: PromptRequest) throws -> [Secret] { throw PromptRefusal.notInteractive }
}
