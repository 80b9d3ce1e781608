internal import Kerberos
internal import SignOnPolicy
internal import Synchronization
internal import SystemSupport

/// Forwards prompts, and remembers the last password during one sign-in, so that no one types it twice.
final class PasswordMemory: Prompter {
    private struct State {
        var answer: Secret?
        var isKnown = false
        var announcement: String?
    }

    private let prompter: any Prompter
    private let state = Mutex(State())

    init(_ prompter: any Prompter) { self.prompter = prompter }

    /// Sets a text to show above the next prompt, and answers the next password prompt with the last password.
    func announce(_ text: String) {
        state.withLock { state in
            state.announcement = text
            state.isKnown = state.answer != nil
        }
    }

    /// Answers the next password prompt with this password.
    func take(_ password: Secret) {
        state.withLock { state in
            state.answer = password
            state.isKnown = true
        }
    }

    /// The last password that was entered or set.
    var lastPassword: Secret? { state.withLock { $0.answer } }

    func answers(to request: PromptRequest) throws -> [Secret] {
        let isPassword = request.prompts.count == 1 && request.prompts[0].kind == .password
        let (known, announcement) = state.withLock { state -> (Secret?, String?) in
            if isPassword, state.isKnown, let answer = state.answer {
                state.isKnown = false
                return (answer, nil)
            }
            defer { state.announcement = nil }
            return (nil, state.announcement)
        }
        if let known { return [known] }
        let banner = [announcement, request.banner].compactMap(\.self).joined(separator: "\n")
        let asked = PromptRequest(request, banner: banner.isEmpty ? nil : banner)
        let answers = try prompter.answers(to: asked)
        if isPassword, answers.count == 1 { state.withLock { $0.answer = answers[0] } }
        return answers
    }

    func cancel(_ request: PromptRequest) { prompter.cancel(request) }
}

/// Asks for the password as the current one, because a change also asks for the new one.
struct CurrentPasswordPrompter: Prompter {
    private let prompter: any Prompter

    init(_ prompter: any Prompter) { self.prompter = prompter }

    func answers(to request: PromptRequest) throws -> [Secret] {
        let prompts = request.prompts.map { prompt in
            guard prompt.kind == .password else { return prompt }
            return .init(kind: .password, text: "Current password for \(request.principal.displayName)", isHidden: prompt.isHidden)
        }
        return try prompter.answers(to: PromptRequest(request, prompts: prompts))
    }

    func cancel(_ request: PromptRequest) { prompter.cancel(request) }
}

/// Adds the profile's text to a sign-in's prompts: the principal, with the organization's label for it, and the help text.
struct LabelledPrompter: Prompter {
    private let prompter: any Prompter
    private let rules: SignInRules

    init(_ prompter: any Prompter, _ rules: SignInRules) {
        self.prompter = prompter
        self.rules = rules
    }

    func answers(to request: PromptRequest) throws -> [Secret] {
        guard request.prompts.contains(where: { $0.kind == .password || $0.kind == .preauthentication }) else {
            return try prompter.answers(to: request)
        }
        let lines = [request.banner, userName(request.principal), help].compactMap(\.self).filter { !$0.isEmpty }
        let banner = lines.isEmpty ? nil : lines.joined(separator: "\n")
        return try prompter.answers(to: PromptRequest(request, banner: banner))
    }

    func cancel(_ request: PromptRequest) { prompter.cancel(request) }

    private func userName(_ principal: Principal) -> String? {
        guard let label = rules.userNameLabel, !label.isEmpty else { return nil }
        return "\(label.escapedForDisplay(limit: 100)): \(principal)"
    }

    /// The help text, limited so that the prompt stays visible.
    private var help: String? { rules.helpText?.escapedForDisplay(keepingLines: true, limit: 1000) }
}
