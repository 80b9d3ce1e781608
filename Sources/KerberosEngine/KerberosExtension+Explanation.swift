public import Foundation
internal import HTTPNegotiate
internal import Kerberos

extension KerberosExtension {
    /// Explains the verdict for a URL and what would answer it. No network.
    public func explanation(for url: URL) async -> Explanation {
        let decision = policy.decision(for: url)
        guard case .answer(let plan) = decision else {
            return Explanation(url: url.absoluteString, plan: nil, principal: nil, servicePrincipal: nil, reasons: decision.reasons)
        }
        var reasons = decision.reasons
        var session: Session?
        do throws(KerberosError) {
            session = try await presentSession(for: plan)
            reasons.append(sessionReason(session, plan: plan))
        } catch {
            reasons.append(DecisionReason(rule: "session", verdict: .failed, detail: error.description))
        }
        let ticket: Credential? = if let session { await cachedTicket(for: plan, session: session) } else { nil }
        if let ticket {
            let detail = "a ticket for \(ticket.server) is in \(session?.cache.rawValue ?? "the cache")."
            reasons.append(DecisionReason(rule: "ticket", verdict: .passed, detail: detail))
        } else if session != nil {
            let detail = "no ticket for \(plan.servicePrincipal) yet: the KDC is asked at the first challenge."
            reasons.append(DecisionReason(rule: "ticket", verdict: .notApplicable, detail: detail))
        }
        reasons += await processReasons(for: plan, session: session, ticket: ticket)
        return Explanation(
            url: url.absoluteString,
            plan: plan,
            principal: session?.principal.description,
            servicePrincipal: ticket?.server.description ?? plan.servicePrincipal,
            reasons: reasons
        )
    }

    /// The session that would answer, as it is: nothing is acquired.
    private func presentSession(for plan: AuthorizationPlan) async throws(KerberosError) -> Session? {
        let list = try await sessions()
        if keytabSession != nil { return list.sessions.first }
        let wanted = try plan.configuration.principalName.map { name throws(KerberosError) in try Principal(name, defaultRealm: plan.realm)
        }
        return list.session(realm: wanted?.realm ?? plan.realm, principal: wanted).flatMap { $0.isSignedIn ? $0 : nil }
    }

    private func sessionReason(_ session: Session?, plan: AuthorizationPlan) -> DecisionReason {
        if let session {
            return DecisionReason(
                rule: "session",
                verdict: .passed,
                detail: "\(session.principal) is signed in, in \(session.cache), until \(session.ticketExpires.formatted(.iso8601))."
            )
        }
        let whom = plan.configuration.principalName.map { "\($0) of \(plan.realm)" }
        let detail = whom.map { "\($0) is not signed in." } ?? "nobody of \(plan.realm) is signed in."
        return DecisionReason(rule: "session", verdict: .failed, detail: detail)
    }
}
