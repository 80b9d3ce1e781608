import Kerberos
import Synchronization

/// Answers by a closure and keeps what it was asked.
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
