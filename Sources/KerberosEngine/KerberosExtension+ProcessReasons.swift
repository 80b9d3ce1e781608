internal import HTTPNegotiate
internal import Kerberos

extension KerberosExtension {
    /// What the krb5.conf of this process has to say, which GSSAPI reads by itself whatever the profile says; and what stands in the way of
    /// a delegation that the profile allows.
    func processReasons(for plan: AuthorizationPlan, session: Session?, ticket: Credential?) async -> [DecisionReason] {
        do throws(KerberosError) {
            let process = try await clients.local.processConfiguration(realm: session?.realm ?? plan.realm)
            return [plan.enforcementReason(process), plan.delegationReason(process, session: session, ticket: ticket)].compactMap { $0 }
        } catch {
            let detail = "GSSAPI makes no token here: \(error)"
            return [DecisionReason(rule: "ticket", verdict: .failed, detail: detail)]
        }
    }
}

extension AuthorizationPlan {
    /// Whether tokens that carry no bindings are of use to whoever catches them.
    fileprivate func enforcementReason(_ process: ProcessConfiguration) -> DecisionReason? {
        guard bindsChannel else { return nil }
        let detail =
            process.isAwareOfChannelBindings
            ? "client_aware_channel_bindings is on: a server that checks channel bindings refuses this user's tokens that carry none."
            : "client_aware_channel_bindings is off in this process's krb5.conf: a server that checks channel bindings and does not demand them "
                + "takes this user's tokens without any too, such as one caught on plain http. Set it to true in [libdefaults]."
        let verdict: DecisionReason.Verdict = process.isAwareOfChannelBindings ? .passed : .notApplicable
        return DecisionReason(rule: "channelBinding", verdict: verdict, detail: detail)
    }

    /// What comes of the delegation that the profile allows.
    fileprivate func delegationReason(_ process: ProcessConfiguration, session: Session?, ticket: Credential?) -> DecisionReason? {
        guard delegation != .none, let session else { return nil }
        let detail: String
        if !session.ticketGrantingTicket.isForwardable {
            detail =
                "The ticket of \(session.principal) is not forwardable, so it stays here. Sign in again: ksso login --force \(session.principal)"
        } else if delegation == .byPolicy, let ticket, !ticket.isForTrustedService {
            detail = "The KDC does not vouch for \(ticket.server) (no ok-as-delegate), so the user's own ticket stays here."
        } else if !process.namesKDC {
            detail =
                "This process's krb5.conf names no KDC of \(session.realm), and GSSAPI asks that one for the ticket to pass on. "
                + "Where DNS does not know it, the user's own ticket stays here: name the KDC in the file of KRB5_CONFIG."
        } else {
            return nil
        }
        return DecisionReason(rule: "delegation", verdict: .notApplicable, detail: detail)
    }
}
