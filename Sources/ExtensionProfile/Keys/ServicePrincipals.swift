import SignOnPolicy

/// One entry of `ServicePrincipals`: an origin, and the service principal for it.
struct ServicePrincipalEntry {
    static let key = "ServicePrincipals"

    /// The origin as it is written in the profile.
    let text: String
    let origin: Origin
    /// `service/host`, with or without `@REALM`.
    let principal: String

    /// The part before the slash.
    var service: Substring { principal.prefix { $0 != "/" } }

    /// The valid entries of the key's value, sorted by the text of their origins.
    static func all(in entries: [String: ProfileValue]) -> [ServicePrincipalEntry] {
        entries.sorted { $0.key < $1.key }.compactMap { text, value in
            guard let principal = value.string, let origin = try? origin(text), (try? check(principal)) != nil else { return nil }
            return ServicePrincipalEntry(text: text, origin: origin, principal: principal)
        }
    }

    /// Parses an origin: a URL with nothing after host and port except a slash.
    static func origin(_ text: String) throws(HostRuleError) -> Origin {
        let quoted = text.quoted
        let origin: Origin
        do {
            origin = try Origin(url: text)
        } catch {
            throw HostRuleError(
                .schemeOrPath,
                text: text,
                reason: "\(quoted) is not an origin such as https://www.example.com. \(error.message)"
            )
        }
        guard hasNothingButHostAndPort(text) else {
            let reason = "\(quoted) is more than an origin: write scheme, host and port alone, such as \(origin)."
            throw HostRuleError(.schemeOrPath, text: text, reason: reason)
        }
        guard !origin.isAddress else {
            throw HostRuleError(.address, text: text, reason: "\(quoted) has an address, which is not supported: write the host's name.")
        }
        return origin
    }

    /// `Origin` ignores user, query and fragment. They are refused here, because they would seem to have an effect.
    private static func hasNothingButHostAndPort(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 3 || (parts.count == 4 && parts[3].isEmpty) else { return false }
        return !parts[2].contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    }

    /// Checks a principal: `service/host`, where the host may have a port, with or without `@REALM`.
    static func check(_ text: String) throws(HostRuleError) {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: ".-_:/@".utf8.contains(byte)
            }
        }
        guard isPlain else { throw fault(text, "only letters, digits and . - _ : are allowed in it, no spaces") }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw fault(text, "only one @ is allowed in it, before the realm") }
        if parts.count == 2, ValueCheck.realmFault(String(parts[1])) != nil { throw fault(text, "a realm must follow its @") }
        let names = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2 else { throw fault(text, "it requires one slash, between the service and the host") }
        guard !names[0].isEmpty, !names[0].contains(":") else { throw fault(text, "a service, which is HTTP, must precede its slash") }
        try checkHost(names[1], of: text)
    }

    /// Checks the host, which must be written as in the KDC's database. Spellings that a URL treats as equal, such as with a final dot, are
    /// other principals.
    private static func checkHost(_ text: Substring, of principal: String) throws(HostRuleError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first ?? ""
        guard let rule = try? HostRule(String(name)), rule.singleHost != nil, name.last != "." else {
            throw fault(principal, "a host name must follow its slash, without an address or a trailing dot")
        }
        guard parts.count == 1 || UInt16(parts[1]).map({ $0 > 0 }) == true else {
            throw fault(principal, "a port from 1 to 65535 must follow its colon")
        }
    }

    private static func fault(_ text: String, _ clause: String) -> HostRuleError {
        let example = "HTTP/www.example.com or HTTP/www.example.com@EXAMPLE.COM"
        return HostRuleError(
            .badLabel,
            text: text,
            reason: "\(text.quoted) is not a service principal: \(clause). Write \(example)."
        )
    }
}

extension ValueCheck {
    /// An origin and a principal in each entry. No origin occurs twice.
    static let servicePrincipals = ValueCheck { value in
        var faults: [KeyChecker.Fault] = []
        var texts: [Origin: String] = [:]
        for (text, value) in (value.dictionary ?? [:]).sorted(by: { $0.key < $1.key }) {
            do throws(HostRuleError) {
                let origin = try ServicePrincipalEntry.origin(text)
                if let other = texts[origin] {
                    let reason = "this is the same origin as \(ProfileKeyPath.readable(other)); remove one of the two"
                    faults.append(KeyChecker.Fault(.badValue(reason: reason), at: [.key(text)]))
                }
                texts[origin] = text
            } catch {
                faults.append(KeyChecker.Fault(.badValue(reason: error.reason), at: [.key(text)]))
            }
            do throws(HostRuleError) {
                try ServicePrincipalEntry.check(value.string ?? "")
            } catch {
                faults.append(KeyChecker.Fault(.badValue(reason: error.reason), at: [.key(text)]))
            }
        }
        return faults
    }
}
