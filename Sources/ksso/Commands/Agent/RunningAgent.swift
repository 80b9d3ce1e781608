internal import CommandSupport
internal import Kerberos
internal import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

/// The agent of a runtime directory, as seen by the commands that inspect or stop it.
struct RunningAgent {
    private let client: AgentClient
    private let runtime: RuntimeDirectory

    init(_ runtime: RuntimeDirectory) {
        self.runtime = runtime
        client = AgentClient(socketPath: runtime.apiSocket)
    }

    /// The reaction of an agent to a status request.
    enum Answer {
        case status(StatusDocument)
        case silence(AgentListener)
        /// The agent is running, but its socket is lost.
        case unreachable(AgentListener)
    }

    /// The running agent whose socket is lost; nil if its socket is reachable or no agent is running. Waits while the agent binds its
    /// socket again, starts or exits.
    func unreachable() async -> AgentListener? {
        var holder: AgentListener?
        _ = try? await runtime.waitForLostSocket {
            holder = runtime.isServed ? nil : runtime.lockHolder
            return holder == nil
        }
        return holder
    }

    /// The message about a running agent whose socket is lost.
    func unreachableSentence(_ agent: AgentListener) -> String {
        let loss = runtime.loss(of: .requests)
        return "an agent (process \(agent.processID)) is running in \(runtime.path), but cannot be reached at \(loss.fault). \(loss.remedy)"
    }

    /// Returns the agent's process if it does not answer; nil if it answers or none is running.
    func silent() async -> AgentListener? {
        guard runtime.isServed else { return nil }
        return await BlockingCall.run { [runtime] in runtime.silentListener(at: .requests) }
    }

    /// - Throws: ``CommandFailure`` if no agent is running, or if other users can write to the directory.
    func answer() async throws(CommandFailure) -> Answer {
        let directory = PrivateDirectory(path: runtime.path)
        guard directory.isTrusted else { throw directory.refusal.map { CommandFailure(.failed, $0) } ?? Self.none(runtime) }
        if let agent = await unreachable() { return .unreachable(agent) }
        let request = Task { [client] in
            do throws(AuthorizationError) {
                return Result<StatusDocument, AuthorizationError>.success(try await client.status())
            } catch {
                return .failure(error)
            }
        }
        // If the agent is slow, check whether it answers a cheaper request.
        if await firstResult(within: .seconds(1), { await request.value }) == nil, let listener = await silent() {
            request.cancel()
            return .silence(listener)
        }
        do {
            return .status(try await request.value.get())
        } catch {
            throw error.code == .agentNotRunning ? Self.none(runtime) : CommandFailure(error, verbose: false)
        }
    }

    /// - Throws: ``CommandFailure`` if no agent is running, if it does not answer, or if other users can write to the directory.
    func status() async throws(CommandFailure) -> StatusDocument {
        switch try await answer() {
        case .status(let document): return document
        case .silence(let listener): throw CommandFailure(.failed, listener.silence)
        case .unreachable(let agent): throw CommandFailure(.failed, unreachableSentence(agent))
        }
    }

    private static func none(_ runtime: RuntimeDirectory) -> CommandFailure {
        CommandFailure(.failed, "no agent is running in \(runtime.path). Start one with: ksso agent run --background")
    }
}
