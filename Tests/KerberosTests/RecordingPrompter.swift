import Kerberos
import Synchronization

/// A prompter that answers with a closure and records the requests.
final class RecordingPrompter: Prompter {
    private let recorded = Mutex<[PromptRequest]>([])
    private let answer: @Sendable (PromptRequest) throws -> [Secret]

    init(_ answer: @escaping @Sendable (PromptRequest) throws -> [Secret]) {
        self.answer = answer
    }

    var requests: [PromptRequest] { recorded.withLock { $0 } }

    func answers(to request: PromptRequest) throws -> [Secret] {
        recorded.withLock { $0.append(request) }
        return try answer(request)
    }
}
