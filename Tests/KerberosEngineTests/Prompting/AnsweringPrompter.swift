import Kerberos
import Synchronization

/// A prompter that answers each kind of prompt from its own list, in order, and records the requests.
final class AnsweringPrompter: Prompter {
    private struct State {
        var passwords: [String]
        var newPasswords: [[String]]
        var requests: [PromptRequest] = []
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - passwords: The answers to prompts for the current password.
    ///   - new: The answers to prompts for a new password: the password and its confirmation.
    init(_ passwords: [String], new: [[String]] = []) { state = Mutex(State(passwords: passwords, newPasswords: new)) }

    /// The requests received so far.
    var requests: [PromptRequest] { state.withLock { $0.requests } }
    /// The kind of the first prompt of each request.
    var kinds: [PromptRequest.Kind] { requests.map { $0.prompts[0].kind } }

    func answers(to request: PromptRequest) throws -> [Secret] {
        try state.withLock { state in
            state.requests.append(request)
            if request.prompts.count == 2 {
                guard !state.newPasswords.isEmpty else { throw PromptRefusal.canceled }
                return state.newPasswords.removeFirst().map { Secret($0) }
            }
            guard !state.passwords.isEmpty else { throw PromptRefusal.canceled }
            return [Secret(state.passwords.removeFirst())]
        }
    }
}
