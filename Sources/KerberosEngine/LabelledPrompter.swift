internal import HTTPNegotiate
internal import Kerberos

/// Says above a sign-in's questions what the profile wants said there: who signs in, by the name that the organisation has for it, and its
/// help.
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

    /// No longer than leaves the question in sight.
    private var help: String? { rules.helpText?.escapedForDisplay(keepingLines: true, limit: 1000) }
}
