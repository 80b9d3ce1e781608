internal import HTTPNegotiate
internal import KerberosSSO

/// What `ksso explain --json` prints. Keys are only ever added; what is absent is null.
struct ExplanationDocument: Encodable {
    let explanation: Explanation

    init(_ explanation: Explanation) { self.explanation = explanation }

    enum Key: String, CodingKey {
        case url, outcome, realm, principal, servicePrincipal, hostRule, profile, reasons
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(withoutUser(explanation.url), forKey: .url)
        try container.encode(explanation.isHandled ? "handled" : "notHandled", forKey: .outcome)
        try container.encode(explanation.plan?.realm, forKey: .realm)
        try container.encode(explanation.principal, forKey: .principal)
        try container.encode(explanation.servicePrincipal, forKey: .servicePrincipal)
        try container.encode(explanation.plan?.hostRule.description, forKey: .hostRule)
        try container.encode(explanation.plan?.configuration.source, forKey: .profile)
        try container.encode(explanation.reasons, forKey: .reasons)
    }
}
