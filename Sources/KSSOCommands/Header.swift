internal import ArgumentParser
internal import HTTPNegotiate
internal import HTTPTypes
internal import KerberosSSO

struct Header: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the Authorization header for a URL.",
        discussion: """
            The token goes into one request only: ksso header URL | curl -H @- URL
            It is bound to no TLS certificate, since the connection is not known here. A server that demands channel bindings refuses it: use \
            ksso fetch there.
            """
    )

    @Argument(help: "The URL of the page.")
    var url: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run(bindsTokens: false) { sso in
            switch try await sso.beginAuthorization(with: AuthorizationRequest(url: try checkedURL(url))) {
            case .headers(let grant):
                Console.print("Authorization: \(grant.headers[.authorization] ?? "")")
            case .notHandled(let reasons):
                throw CommandFailure.notHandled(url, reasons)
            case .completed:
                throw CommandFailure(.failed, "\(withoutUser(url)): there is no header to print.")
            }
        }
    }
}

extension CommandFailure {
    /// No rule covers the URL; the rule that failed says why.
    static func notHandled(_ url: String, _ reasons: [DecisionReason]) -> CommandFailure {
        let url = withoutUser(url)
        let why = reasons.last { $0.verdict == .failed }?.detail ?? "no rule covers it."
        return CommandFailure(.notHandled, "\(url) is not answered: \(why) See: ksso explain \(url)")
    }
}
