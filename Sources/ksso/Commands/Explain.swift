internal import ArgumentParser
internal import CommandSupport
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient
internal import SignOnPolicy

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Print whether a challenge from a URL would be answered, for which principal, and why, without using the network.",
        discussion: """
            Exits with status 3 if no rule covers the URL. A proxy is answered by ksso proxy run and by programs that use this \
            package, if ProxyHosts of a profile lists it.

            EXAMPLES:
              ksso explain https://intranet.corp.example/
              ksso explain --proxy proxy.corp.example:3128
            """
    )

    @Argument(help: "The URL of the page; https:// may be omitted.", completion: .page)
    var url: String
    @Flag(help: "Explain a proxy that asks for a ticket (status 407): the URL is its address, such as proxy.corp.example:3128.")
    var proxy = false
    @Flag(help: "Print one JSON document.")
    var json = false
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run { sso in
            let address = proxy && !url.contains("://") ? "http://\(url)" : pageURL(url)
            let explanation = await sso.explanation(for: try checkedURL(address), challenger: proxy ? .proxy : .origin)
            if json { try Console.printJSON(ExplanationDocument(explanation)) } else { show(explanation) }
            if !explanation.isHandled { throw CommandFailure(.notHandled) }
        }
    }

    private func show(_ explanation: Explanation) {
        let url = withoutUser(explanation.url)
        if let plan = explanation.plan {
            let whom = explanation.principal.map { "as \($0)" } ?? "once a principal of \(plan.realm) is signed in"
            Console.print(
                "\(url) is answered \(whom), with a ticket for \(explanation.servicePrincipal ?? plan.servicePrincipal)."
            )
        } else {
            Console.print("\(url) is not answered.")
        }
        for reason in explanation.reasons { Console.print("  \(reason.verdict.mark) \(reason.rule): \(reason.detail)") }
    }
}

extension DecisionReason.Verdict {
    fileprivate var mark: String {
        switch self {
        case .passed: "+"
        case .failed: "-"
        case .notApplicable: " "
        }
    }
}
