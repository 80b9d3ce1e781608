internal import Hummingbird
internal import KerberosEngine
internal import SSOAgentClient

extension AgentAPI {
    /// `GET /v1/status`
    func status(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = served
        try served.access.checkOwner(context.peer)
        var document = StatusDocument(try await served.kerberos.sessions())
        document.agent = true
        document.process = await facts()
        document.process?.connections = connections.count
        document.process?.exchanges = exchanges.count
        return try Self.response(document)
    }
}
