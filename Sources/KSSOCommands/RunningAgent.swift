internal import HTTPNegotiate
internal import KerberosEngine
internal import SSOAgentClient
internal import UnixSystem

/// The agent of a runtime folder, as commands that look after it see it.
struct RunningAgent {
    private let client: AgentClient
    private let runtime: RuntimeDirectory

    init(_ runtime: RuntimeDirectory) {
        self.runtime = runtime
        client = AgentClient(socketPath: runtime.apiSocket)
    }

    /// - Throws: ``CommandFailure`` where none runs, or the folder is not this user's alone.
    func status() async throws(CommandFailure) -> StatusDocument {
        try await ask { () async throws(AuthorizationError) in try await client.status() }
    }

    private func ask<Value>(_ body: () async throws(AuthorizationError) -> Value) async throws(CommandFailure) -> Value {
        guard PrivateDirectory(path: runtime.path).isTrusted else { throw Self.none(runtime) }
        do throws(AuthorizationError) {
            return try await body()
        } catch {
            throw error.code == .agentNotRunning ? Self.none(runtime) : CommandFailure(error, verbose: false)
        }
    }

    private static func none(_ runtime: RuntimeDirectory) -> CommandFailure {
        CommandFailure(.failed, "no agent runs in \(runtime.path). Start one with: ksso agent run --background")
    }
}
