public import Foundation
public import HTTPNegotiate
internal import NIOHTTP1

extension AgentClient {
    /// Who is signed in, and how the agent is; no network. Throws `AuthorizationError`.
    public func status() async throws(AuthorizationError) -> StatusDocument {
        try await answer(to: .init(method: .GET, path: AgentPath.status))
    }

    /// Whether and how a challenge from a URL would be answered now; no network. Throws `AuthorizationError`.
    public func explanation(for url: URL) async throws(AuthorizationError) -> ExplanationDocument {
        let query = url.absoluteString.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try await answer(to: .init(method: .GET, path: "\(AgentPath.explain)?url=\(query)"))
    }
}
