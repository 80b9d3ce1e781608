internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Kerberos
package import KerberosEngine
package import SSOAgentClient
internal import SignOnPolicy

extension AgentAPI {
    /// `GET /v1/status`
    func status(_ request: Request, _ context: AgentContext) async throws -> Response {
        let document = await document()
        return try Self.response(document)
    }

    /// Returns the agent's status even if the caches, which may be another server's, cannot be read.
    private func document() async -> StatusDocument {
        var document: StatusDocument
        do throws(KerberosError) {
            document = await StatusDocument(try served.kerberos.sessions(), of: served.kerberos.inspection)
        } catch {
            document = StatusDocument(sessions: [])
            document.failure = "\(error)"
        }
        document.agent = true
        document.process = await delegate.processStatus()
        // An agent without caches of its own uses the system's.
        document.cacheMode = document.process?.caches == nil ? "system" : "agent"
        document.process?.connections = connections.count
        document.process?.exchanges = exchanges.count
        return document
    }

    /// `GET /v1/explain?url=…`
    func explain(_ request: Request, _ context: AgentContext) async throws -> Response {
        guard let text = request.uri.queryParameters["url"].map({ String($0) }) else {
            throw AgentProblem.badRequest("the query has no url: write /v1/explain?url= and the URL, percent-encoded.")
        }
        _ = try Origin(url: text)
        guard let url = URL(string: text) else {
            throw AuthorizationError(.invalidURL, "\(text.debugDescription) is not a valid URL. Percent-encode it.")
        }
        let explanation = await context.served.kerberos.explanation(for: url)
        var document = ExplanationDocument(explanation)
        if let reason = lockReason(for: explanation.plan) { document.reasons.append(reason) }
        return try Self.response(document)
    }

    /// `POST /v1/stop`: the requests in progress finish first.
    func stop(_ request: Request, _ context: AgentContext) async throws -> Response {
        delegate.stop()
        return Response(status: .accepted)
    }
}

extension StatusDocument {
    /// Creates the document for the sessions of an engine.
    package init(_ list: SessionList, of engine: EngineInspection) async {
        var sessions: [Session] = []
        for session in list.sessions { sessions.append(Session(session, site: await engine.knownSite(of: session.realm))) }
        self.init(sessions: sessions)
    }
}

extension StatusDocument.Session {
    /// Converts a session of the engine.
    ///
    /// - Parameter site: The site of this machine in the session's realm, if it is known.
    package init(_ session: KerberosEngine.Session, site: String? = nil) {
        self.init(
            realm: session.realm,
            principal: session.principal.description,
            isDefault: session.isDefault,
            signedIn: session.isSignedIn,
            acquiredBy: session.acquiredBy.name,
            cache: session.cache.rawValue,
            ticketExpires: session.ticketExpires,
            renewUntil: session.renewUntil,
            passwordExpires: session.passwordExpires,
            accountProblem: session.account?.problem?.rawValue,
            homeDirectory: session.account?.homeDirectory,
            site: site,
            services: session.services.map { .init(service: $0.principal.description, expires: $0.expires) }
        )
    }
}

extension ExplanationDocument {
    /// Converts an explanation of the engine.
    package init(_ explanation: Explanation) {
        self.init(
            url: explanation.url,
            plan: explanation.plan,
            principal: explanation.principal,
            servicePrincipal: explanation.servicePrincipal,
            reasons: explanation.reasons
        )
    }
}
