internal import HTTPNegotiate
internal import KCM
internal import SSOAgentClient

/// Who may do what with the agent. A value: it knows users and rules, and looks at nothing but what it is asked about.
package struct AccessPolicy: Sendable {
    /// Whose agent it is.
    package let owner: UInt32

    package init(owner: UInt32) { self.owner = owner }

    /// Throws unless the caller is the agent's own user.
    func checkOwner(_ peer: PeerCredential) throws(AgentProblem) {
        guard peer.userID == owner else { throw .forbidden("only the agent's own user may do this.") }
    }

    /// Throws unless the caller may have tickets for this.
    func check(_ peer: PeerCredential, for request: AuthorizationRequest, plan: AuthorizationPlan?) throws(AgentProblem) {
        try checkOwner(peer)
    }
}
