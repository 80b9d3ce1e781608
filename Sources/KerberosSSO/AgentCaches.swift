internal import Foundation
internal import Kerberos
internal import KerberosEngine
package import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

extension RuntimeDirectory {
    /// The socket of the agent that keeps the tickets; nil if there is no such agent, or if other users can write to the directory.
    package var cacheSocket: String? { PrivateDirectory(path: path).isTrusted && servesCaches ? kcmSocket : nil }

    /// How long the agent may take to report where the tickets are.
    private static let answerLimit = Duration.seconds(2)

    /// The cache socket of the agent that keeps the tickets; nil if none does.
    ///
    /// If a running agent has lost its socket, this waits for the socket, because the agent still has the tickets, and does not use the
    /// system's default cache instead.
    ///
    /// - Throws: `AuthorizationError` (`agentUnavailable`) if the agent does not bind it again; `CancellationError`.
    package func findCacheSocket() async throws -> String? {
        if let cacheSocket { return cacheSocket }
        guard PrivateDirectory(path: path).isTrusted else { return nil }
        var found: String?
        var keepsTickets: Bool?
        let isSettled = try await waitForLostSocket {
            if servesCaches {
                found = kcmSocket
                return true
            }
            guard hasAgent else {
                // An agent may have started, or been replaced, in the meantime.
                found = cacheSocket
                return true
            }
            if keepsTickets == nil, servesRequests { keepsTickets = await agentKeepsTickets() }
            return keepsTickets == false
        }
        if isSettled { return found }
        guard await agentKeepsTickets() else { return nil }
        let process = lockHolder.map { " (process \($0.processID))" } ?? ""
        let loss = loss(of: .caches)
        throw AuthorizationError(
            .agentUnavailable,
            "the agent\(process) keeps the tickets, but programs cannot reach them at \(loss.fault). \(loss.remedy)"
        )
    }

    /// Why programs cannot reach the tickets stored by the agent of this directory; nil if they can, or if there are none.
    package func cacheLoss() async -> SocketLoss? {
        guard PrivateDirectory(path: path).isTrusted, !servesCaches, hasAgent, await agentKeepsTickets(), !servesCaches, hasAgent else {
            return nil
        }
        return loss(of: .caches)
    }

    /// Whether the agent that runs here keeps the tickets, instead of leaving them in the system's default cache.
    private func agentKeepsTickets() async -> Bool {
        let mode: String? = await withTaskGroup(of: String?.self) { group in
            guard servesRequests else { return nil }
            group.addTask { try? await AgentClient(socketPath: apiSocket).status().cacheMode }
            group.addTask {
                try? await Task.sleep(for: Self.answerLimit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let mode { return mode == "agent" }
        // If the agent does not answer, check whether its krb5.conf names the socket.
        return (try? String(contentsOfFile: sessionConfiguration, encoding: .utf8))?.contains("kcm_socket = \(kcmSocket)\n") == true
    }

    /// Throws if the agent whose caches are about to be used does not answer, because libkrb5 would wait for it without a limit.
    func checkCaches() async throws(AuthorizationError) {
        guard let listener = await BlockingCall.run({ silentListener(at: .caches) }) else { return }
        throw AuthorizationError(.timedOut, listener.silence)
    }
}

extension KerberosExtension.Options.Credential {
    /// Whether the tickets are those of signed-in principals.
    var isSessions: Bool { if case .sessions = self { true } else { false } }
}
