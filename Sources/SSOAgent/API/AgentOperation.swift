internal import HTTPTypes
internal import Hummingbird

/// One operation of the API: its method, its path as `openapi.yaml` has it, whom it is for, and what carries it out.
struct AgentOperation {
    /// Whose requests are heard.
    enum Audience: String {
        /// The agent's own user's alone.
        case owner
        /// Also those of whom `AllowedPeers` names; what such a one may have is decided by the operation.
        case peers
    }

    let method: HTTPRequest.Method
    let path: String
    let audience: Audience
    let run: @Sendable (Request, AgentContext) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        for audience: Audience,
        _ run: @escaping @Sendable (Request, AgentContext) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.audience = audience
        self.run = run
    }
}
