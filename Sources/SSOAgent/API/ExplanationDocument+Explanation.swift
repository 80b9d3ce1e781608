package import KerberosEngine
package import SSOAgentClient

extension ExplanationDocument {
    /// What the engine says of a URL.
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
