internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

/// `ksso status --watch`: a line, or a JSON document, for each change of the sessions, for as long as somebody reads.
///
/// An agent may come and go meanwhile. While one runs it is asked; without one the caches are read here.
struct StatusWatch {
    let common: CommonOptions
    let json: Bool

    /// Ends by a signal, or with the reader of its output.
    func run() async throws {
        ReaderWatch.endProcessWithReader()
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        var shown: StatusDocument?
        var sso: SingleSignOn?
        var losses = 0
        while true {
            if let listener = await RunningAgent(runtime).silent() { throw CommandFailure(.failed, listener.silence) }
            let agent = runtime.isServed ? AgentClient(socketPath: runtime.apiSocket) : nil
            if agent == nil, sso == nil { sso = try await common.open() }
            for await _ in await changes(agent) {
                guard (agent != nil) == runtime.isServed, let document = try await document(agent, sso, &losses) else { break }
                if document != shown { try show(document) }
                shown = document
            }
            // The agent has come or gone; where it goes, its last clients may be a moment ahead of its sockets.
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func changes(_ agent: AgentClient?) async -> AsyncStream<Void> {
        if let agent { return SessionChanges.stream(agent: agent) }
        let client = KerberosClient(RealmConfiguration(realm: ""))
        return SessionChanges.stream(cache: try? await client.defaultCacheName())
    }

    /// Nil when the agent has gone, or goes: one that does not end is told of after a few times.
    private func document(_ agent: AgentClient?, _ sso: SingleSignOn?, _ losses: inout Int) async throws -> StatusDocument? {
        guard let agent else {
            guard let sso else { return nil }
            return StatusDocument(try await sso.sessions())
        }
        do throws(AuthorizationError) {
            var document = try await agent.status()
            document.process = nil  // its counts change with each question
            losses = 0
            return document
        } catch {
            losses += 1
            guard error.code == .agentNotRunning || error.code == .agentUnavailable && losses < 5 else { throw error }
            return nil
        }
    }

    private func show(_ document: StatusDocument) throws {
        if json { return try Console.printJSONLine(document) }
        let now = Console.text(Date())
        if document.sessions.isEmpty { Console.print("\(now)  nobody is signed in") }
        for session in document.sessions {
            let mark = session.isDefault ? " (default)" : ""
            let verb = session.signedIn ? "signed in until" : "expired at"
            let services = session.services.isEmpty ? "" : ", \(session.services.count) service tickets"
            Console.print("\(now)  \(session.principal)\(mark): \(verb) \(Console.text(session.ticketExpires))\(services)")
        }
    }
}
