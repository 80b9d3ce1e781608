internal import Foundation
internal import KerberosTesting

extension TestRealmOptions {
    /// The options of one realm of a plan.
    init(_ mapping: PlanMapping) throws(PlanFault) {
        self.init(name: try mapping.needed("name"))
        if let node = mapping.node("users") {
            let passwords = try PlanMapping(node, at: mapping.place("users"), keys: [])
            for name in passwords.names { users[name] = try passwords.needed(name) }
        }
        for policy in try mapping.mappings("policies", keys: PasswordPolicy.planKeys) { policies.append(try PasswordPolicy(policy)) }
        for principal in try mapping.mappings("principals", keys: TestPrincipal.planKeys) {
            principals.append(try TestPrincipal(principal))
        }
        services = try mapping.texts("services")
        ticketLifetime = try mapping.duration("ticketLifetime")
        renewableLifetime = try mapping.duration("renewableLifetime")
        clockOffset = try mapping.offset("clockOffset")
        kdcCount = try mapping.number("kdcs") ?? 1
        acceptsPasswordChanges = try mapping.flag("passwordChanges")
        acceptsCertificates = try mapping.flag("certificates")
        demandsFAST = try mapping.flag("fast")
        faultProxy = try mapping.flag("faults") || mapping.node("fault") != nil
    }
}

extension PasswordPolicy {
    fileprivate static let planKeys: Set<String> = [
        "name", "minimumLength", "minimumClasses", "history", "minimumLifetime", "maximumLifetime", "maximumFailures",
        "failureCountInterval", "lockoutDuration",
    ]

    fileprivate init(_ mapping: PlanMapping) throws(PlanFault) {
        self.init(
            try mapping.needed("name"),
            minimumLength: try mapping.number("minimumLength"),
            minimumClasses: try mapping.number("minimumClasses"),
            history: try mapping.number("history"),
            minimumLifetime: try mapping.duration("minimumLifetime"),
            maximumLifetime: try mapping.duration("maximumLifetime"),
            maximumFailures: try mapping.number("maximumFailures"),
            failureCountInterval: try mapping.duration("failureCountInterval"),
            lockoutDuration: try mapping.duration("lockoutDuration")
        )
    }
}

extension TestPrincipal {
    fileprivate static let planKeys: Set<String> = [
        "name", "password", "attributes", "ticketLifetime", "renewableLifetime", "expires", "passwordExpires", "encryptionTypes", "policy",
    ]

    fileprivate init(_ mapping: PlanMapping) throws(PlanFault) {
        var attributes: [Attribute] = []
        for name in try mapping.texts("attributes") {
            // The two that everybody wants have plain names; the others are kadmin's.
            switch name {
            case "locked": attributes.append(.locked)
            case "needsPasswordChange": attributes.append(.needsPasswordChange)
            case _ where name.hasPrefix("+") || name.hasPrefix("-"): attributes.append(Attribute(kadmin: name))
            default:
                let message =
                    "\(name) is no attribute: locked, needsPasswordChange, or one of kadmin's with its sign, such as +ok_as_delegate."
                throw PlanFault(mapping.place("attributes"), message)
            }
        }
        self.init(
            try mapping.needed("name"),
            password: try mapping.text("password"),
            attributes: attributes,
            ticketLifetime: try mapping.duration("ticketLifetime"),
            renewableLifetime: try mapping.duration("renewableLifetime"),
            expires: try mapping.expiry("expires"),
            passwordExpires: try mapping.expiry("passwordExpires"),
            encryptionTypes: try mapping.texts("encryptionTypes").map { EncryptionType($0) },
            policy: try mapping.text("policy")
        )
    }
}

extension PlanMapping {
    /// `never`, `past`, a time from now on such as `90s`, or a date such as 2030-01-31T12:00:00Z.
    fileprivate func expiry(_ key: String) throws(PlanFault) -> TestPrincipal.Expiry {
        switch try text(key) {
        case nil, "never": return .never
        case "past": return .past
        case let words?:
            if let lifetime = Lifetime(argument: words) { return .after(lifetime.duration) }
            if let date = try? Date(words, strategy: .iso8601) { return .at(date) }
            throw PlanFault(
                place(key),
                "never, past, a time from now on such as 90s, or a date such as 2030-01-31T12:00:00Z is wanted here."
            )
        }
    }
}
