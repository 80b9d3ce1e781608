internal import Synchronization

/// Answers one question with what was given beforehand, and no other: the second one says that the answer was wrong.
package final class GivenAnswer: Prompter {
    private let answer: Mutex<Secret?>

    /// - Parameter answer: Nil answers nothing.
    package init(_ answer: Secret?) { self.answer = Mutex(answer) }

    /// The answer, once. Throws `PromptRefusal`.
    package func answers(to request: PromptRequest) throws -> [Secret] {
        guard request.prompts.count == 1, let answer = answer.withLock({ $0.take() }) else { throw PromptRefusal.notInteractive }
        return [answer]
    }
}
