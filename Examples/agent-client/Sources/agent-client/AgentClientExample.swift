import Foundation
import HTTPNegotiate
import SSOAgentClient

/// Prints the `Authorization` field for a URL: `curl -H "$(agent-client https://…)" https://…`
///
/// The agent keeps the tickets and makes the token; this program is not linked with a Kerberos library.
@main enum AgentClientExample {
    static func main() async {
        guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
            end("usage: agent-client URL", status: 2)
        }
        do {
            let agent = try await AgentClient.connect()
            switch try await agent.beginAuthorization(with: AuthorizationRequest(url: url)) {
            case .headers(let grant): for field in grant.headers { print("\(field.name): \(field.value)") }
            case .completed: break
            case .notHandled(let reasons): end(reasons.map(\.detail).joined(separator: "\n"), status: 1)
            }
        } catch {
            end(error.message, status: 1)
        }
    }

    private static func end(_ text: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
        exit(status)
    }
}
