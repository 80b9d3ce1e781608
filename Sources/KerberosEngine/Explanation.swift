package import Foundation
internal import HTTPNegotiate
internal import Kerberos
public import SignOnPolicy
internal import SystemSupport

extension KerberosExtension {
    /// Explains the decision for a URL and which credential would answer a challenge. Uses no network.
    package func explanation(for url: URL, challenger: Challenger = .origin) async -> Explanation {
        let decision = policy.decision(for: url, challenger: challenger)
        guard case .answer(let plan) = decision else {
            return Explanation(url: url.absoluteString, plan: nil, principal: nil, servicePrincipal: nil, reasons: decision.reasons)
        }
        var reasons = decision.reasons
        var session: Session?
        do throws(KerberosError) {
            await offsets.follow(source)
            session = try await source.present(for: plan, principal: nil).flatMap { $0.isSignedIn ? $0 : nil }
            reasons.append(sessionReason(session, plan: plan))
        } catch {
            reasons.append(DecisionReason(rule: "session", verdict: .failed, detail: error.description))
        }
        let ticket: Credential? = if let session { await tokens.tickets.cachedTicket(for: plan, session: session) } else { nil }
        if let ticket {
            let detail = "A ticket for \(ticket.server) of \(ticket.ticketSize) bytes is in \(session?.cache.rawValue ?? "the cache")."
            reasons.append(DecisionReason(rule: "ticket", verdict: .passed, detail: detail))
            if let reason = ticket.sizeReason { reasons.append(reason) }
        } else if session != nil {
            let detail = "No ticket for \(plan.servicePrincipal) is cached yet. It is requested from the KDC at the first challenge."
            reasons.append(DecisionReason(rule: "ticket", verdict: .notApplicable, detail: detail))
        }
        if let mode = plan.configuration.credentialUseMode { reasons.append(mode.reason) }
        if let reason = await kdcReason(plan) { reasons.append(reason) }
        reasons += await processReasons(for: plan, session: session, ticket: ticket)
        return Explanation(
            url: url.absoluteString,
            plan: plan,
            principal: session?.principal.description,
            servicePrincipal: ticket?.server.description ?? plan.servicePrincipal,
            reasons: reasons
        )
    }

    /// The order in which the KDCs are tried, if the profile lists any.
    private func kdcReason(_ plan: AuthorizationPlan) async -> DecisionReason? {
        guard !plan.configuration.preferredKDCs.isEmpty, let order = try? await clients.client(for: plan.realm).kdcOrder() else {
            return nil
        }
        let rest = order.asksDNS ? ", then those that DNS lists (SRV)" : ""
        let detail = "The KDCs of \(plan.realm) are tried in this order: \(order.named.joined(separator: ", "))\(rest)."
        return DecisionReason(rule: "kdc", verdict: .passed, detail: detail)
    }

    private func sessionReason(_ session: Session?, plan: AuthorizationPlan) -> DecisionReason {
        if let session {
            return DecisionReason(
                rule: "session",
                verdict: .passed,
                detail: "\(session.principal) is signed in, in \(session.cache), until \(session.ticketExpires.localTextWithTimeLeft)."
            )
        }
        let whom = plan.configuration.principalName.map { "\($0) of \(plan.realm)" }
        let detail = whom.map { "\($0) is not signed in." } ?? "No one of \(plan.realm) is signed in."
        return DecisionReason(rule: "session", verdict: .failed, detail: detail)
    }
}

extension Credential {
    /// What a server with the usual limits does with a token of this ticket; nil if it fits.
    fileprivate var sizeReason: DecisionReason? {
        // The authenticator and the framing need a few hundred bytes more, and base64 writes three bytes as four.
        let fieldSize = (ticketSize + 400) * 4 / 3
        guard fieldSize > NegotiateExchange.usualFieldLimit else { return nil }
        let detail =
            "The header field with this ticket has about \(fieldSize) bytes, more than some servers accept by default. Increase their "
            + "limit (LimitRequestFieldSize in Apache, large_client_header_buffers in nginx), or reduce the number of the principal's groups."
        return DecisionReason(rule: "ticketSize", verdict: .notApplicable, detail: detail)
    }
}

extension CredentialUseMode {
    /// The reason that states which credential the profile selects.
    fileprivate var reason: DecisionReason {
        let effect =
            switch self {
            case .always: "the extension's credential is used for every principal a program names"
            case .whenNotSpecified: "the extension's credential is used unless a program names another principal"
            case .kerberosDefault: "libkrb5's default credential is used: the principal of the primary cache, in any realm"
            }
        return DecisionReason(rule: "credentialUseMode", verdict: .passed, detail: "\(rawValue): \(effect).")
    }
}

/// Explains whether and how a challenge from a URL would be answered now. Lists every rule that was considered: first those of the decision
/// for the URL, then the contents of the credential caches.
public struct Explanation: Sendable {
    /// The URL as the caller passed it.
    public let url: String
    /// The plan; nil if no rule covers the URL.
    public let plan: AuthorizationPlan?
    /// The principal that would answer; nil if no one is signed in.
    public let principal: String?
    /// The service principal of the cached ticket; if there is none, the one that would be requested.
    public let servicePrincipal: String?
    /// Every rule that was considered, in order.
    public let reasons: [DecisionReason]

    /// Whether a rule covers the URL.
    public var isHandled: Bool { plan != nil }
}

extension KerberosExtension {
    /// The reasons that come from the krb5.conf of this process, which GSSAPI reads regardless of the profile, and those that prevent a
    /// delegation that the profile allows.
    func processReasons(for plan: AuthorizationPlan, session: Session?, ticket: Credential?) async -> [DecisionReason] {
        do throws(KerberosError) {
            let process = try await clients.local.processConfiguration(realm: session?.realm ?? plan.realm)
            return [plan.enforcementReason(process), plan.delegationReason(process, session: session, ticket: ticket)].compactMap { $0 }
        } catch {
            let detail = "GSSAPI cannot create a token: \(error)"
            return [DecisionReason(rule: "ticket", verdict: .failed, detail: detail)]
        }
    }
}

extension AuthorizationPlan {
    /// Whether a server that checks channel bindings would accept a token without them that an attacker intercepted.
    fileprivate func enforcementReason(_ process: ProcessConfiguration) -> DecisionReason? {
        guard bindsChannel else { return nil }
        let detail =
            process.isAwareOfChannelBindings
            ? "client_aware_channel_bindings is on: a server that checks channel bindings rejects this user's tokens without them."
            : "client_aware_channel_bindings is off in this process's krb5.conf: a server that checks channel bindings but does "
                + "not require them "
                + "also accepts this user's tokens without them, such as one captured on plain http. Set it to true in [libdefaults]."
        let verdict: DecisionReason.Verdict = process.isAwareOfChannelBindings ? .passed : .notApplicable
        return DecisionReason(rule: "channelBinding", verdict: verdict, detail: detail)
    }

    /// Why the user's ticket is not delegated although the profile allows it; nil if nothing prevents the delegation.
    fileprivate func delegationReason(_ process: ProcessConfiguration, session: Session?, ticket: Credential?) -> DecisionReason? {
        guard delegation != .none, let session else { return nil }
        let detail: String
        if !session.ticketGrantingTicket.isForwardable {
            detail =
                "The ticket of \(session.principal) is not forwardable, so it is not forwarded. Sign in again: ksso login --force "
                + "\(session.principal)"
        } else if delegation == .byPolicy, let ticket, !ticket.isForTrustedService {
            detail =
                "The KDC does not trust \(ticket.server) for delegation (no ok-as-delegate), so the user's own ticket is not forwarded."
        } else if !process.namesKDC {
            detail =
                "This process's krb5.conf names no KDC of \(session.realm), which GSSAPI needs to fetch the forwarded ticket. "
                + "Unless DNS lists one, the user's own ticket is not forwarded: add the KDC to the file named in KRB5_CONFIG."
        } else {
            return nil
        }
        return DecisionReason(rule: "delegation", verdict: .notApplicable, detail: detail)
    }
}
