internal import Foundation
internal import HTTPNegotiate
internal import KerberosSSO
internal import SSOAgentClient
internal import Synchronization

/// The tickets of a proxy while no agent is running: those of the default cache.
///
/// A proxy runs for a long time, so the engine is opened again when the profiles change, or when the caches of an agent have appeared or
/// disappeared.
final class ProxySignOn: CredentialExtension {
    private struct State {
        var sso: SingleSignOn
        /// Whether an agent served its caches when the engine was opened.
        var usesAgentCaches: Bool
    }

    private let engine: EngineOptions
    private let runtime: RuntimeDirectory
    private let state: Mutex<State>

    init(_ sso: SingleSignOn, engine: EngineOptions, runtime: RuntimeDirectory) {
        self.engine = engine
        self.runtime = runtime
        state = Mutex(State(sso: sso, usesAgentCaches: runtime.servesCaches))
    }

    private var current: SingleSignOn { state.withLock { $0.sso } }

    func decision(for url: URL) -> AuthorizationDecision { current.decision(for: url) }

    func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision { current.decision(for: url, challenger: challenger) }

    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        try await upToDate().beginAuthorization(with: Self.unattended(request))
    }

    func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        try await upToDate().identity(for: Self.unattended(request))
    }

    func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
        await current.readyGrant(for: Self.unattended(request))
    }

    /// Opens the engine again. If that fails, the present one stays.
    func reopen() async {
        let usesAgentCaches = runtime.servesCaches
        guard let sso = try? await engine.reopen() else { return }
        state.withLock { $0 = State(sso: sso, usesAgentCaches: usesAgentCaches) }
    }

    private func upToDate() async -> SingleSignOn {
        if state.withLock({ $0.usesAgentCaches }) != runtime.servesCaches { await reopen() }
        return current
    }

    /// Only an agent can prompt for a program that has no terminal.
    private static func unattended(_ request: AuthorizationRequest) -> AuthorizationRequest {
        var request = request
        request.isUserInterfaceEnabled = false
        return request
    }
}
