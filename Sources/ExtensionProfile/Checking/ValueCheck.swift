internal import Foundation
internal import SignOnPolicy

/// A check of a key's value, made after that of its type.
struct ValueCheck: Sendable {
    /// The faults of a value that has the key's type.
    let faults: @Sendable (ProfileValue) -> [KeyChecker.Fault]

    /// The valid values as text; nil if they are not listed.
    let expectation: String?

    init(expectation: String? = nil, _ faults: @escaping @Sendable (ProfileValue) -> [KeyChecker.Fault]) {
        self.expectation = expectation
        self.faults = faults
    }

    /// Every value of the type is valid, except negative numbers.
    static let typeOnly = ValueCheck { _ in [] }

    /// Only these texts are valid.
    static func only(_ allowed: String...) -> ValueCheck { only(allowed) }

    /// Only the cases of an enumeration are valid.
    static func only<Choice: RawRepresentable<String>>(_ allowed: [Choice]) -> ValueCheck { only(allowed.map(\.rawValue)) }

    private static func only(_ allowed: [String]) -> ValueCheck {
        let expectation = allowed.joined(separator: " or ")
        return ValueCheck(
            expectation: expectation,
            text { allowed.contains($0) ? nil : "found \($0.debugDescription), expected \(expectation)" }.faults
        )
    }

    /// Checks a text.
    ///
    /// - Parameter reason: Why the text is invalid; nil if it is valid.
    static func text(_ reason: @escaping @Sendable (String) -> String?) -> ValueCheck {
        ValueCheck { value in reason(value.string ?? "").map { [KeyChecker.Fault(.badValue(reason: $0))] } ?? [] }
    }

    /// Checks each text of a list; the fault has its index.
    static func texts(_ reason: @escaping @Sendable (String) -> String?) -> ValueCheck {
        ValueCheck { value in
            (value.strings ?? []).enumerated().compactMap { offset, text in
                reason(text).map { KeyChecker.Fault(.badValue(reason: $0), at: [.index(offset)]) }
            }
        }
    }

    /// Checks each text of a list by parsing it.
    static func texts(parsing parse: @escaping @Sendable (String) throws(HostRuleError) -> Void) -> ValueCheck {
        texts { text in
            do throws(HostRuleError) {
                try parse(text)
                return nil
            } catch {
                return error.reason
            }
        }
    }

    /// A list of host rules.
    static let hostRules = texts { text throws(HostRuleError) in _ = try HostRule(text) }
}

/// Times.
extension ValueCheck {
    /// The minimum time, in seconds. A smaller value was probably meant in minutes or hours, and would end sessions during the sign-in.
    private static let leastTime = 60

    /// A time in seconds after which a session ends.
    static let sessionTime = ValueCheck { value in
        guard let seconds = value.integer, seconds < leastTime else { return [] }
        return [KeyChecker.Fault(.badValue(reason: "found \(seconds), expected a time in seconds, \(leastTime) or more"))]
    }

    static let timeOfDay = text { text in
        guard SessionLimits.TimeOfDay(text) == nil else { return nil }
        return "found \(text.debugDescription), expected a time of day such as 18:00, from 00:00 to 23:59"
    }

    /// A smaller fraction would send requests to the KDC continually; with a larger one, a short outage of the KDC would end the session.
    private static let fractions = 0.1...0.95

    static let renewalFraction = ValueCheck { value in
        guard let number = value.number, !fractions.contains(number) else { return [] }
        let (least, most) = (fractions.lowerBound, fractions.upperBound)
        let reason = "found \(value), expected a fraction of the ticket's lifetime, from \(least) to \(most)"
        return [KeyChecker.Fault(.badValue(reason: reason))]
    }
}

/// Names: realms, principals, certificates, caches, programs and users.
extension ValueCheck {
    static let realm = text(realmFault)

    /// Why a text is not a realm of RFC 4120's domain style (section 6.1); nil if it is one. Because the realm is written to krb5's
    /// configuration, characters that could end a word there are refused.
    static func realmFault(_ realm: String) -> String? {
        guard realm.utf8.allSatisfy(isOfName), (1...255).contains(realm.utf8.count) else {
            return "found \(realm.debugDescription), expected a realm such as EXAMPLE.COM (letters, digits, dots, hyphens)"
        }
        return nil
    }

    /// Whether a character is a letter, a digit, a dot, a hyphen or an underscore.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// A site of Active Directory, which is a label of a DNS name.
    static let site = text { name in
        let isLabel = (1...63).contains(name.utf8.count) && name.utf8.allSatisfy { isOfName($0) && $0 != UInt8(ascii: ".") }
        return isLabel ? nil : "found \(name.debugDescription), expected a site such as Berlin (letters, digits, hyphens, underscores)"
    }

    static let principal = text(principalFault)
    static let principals = texts(principalFault)

    /// Whether a text is a principal, with or without a realm.
    static func isPrincipal(_ name: String) -> Bool { principalFault(name) == nil }

    private static func principalFault(_ name: String) -> String? {
        let isPrintable = name.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.properties.generalCategory != .control }
        guard !name.isEmpty, isPrintable, !name.hasPrefix("@"), !name.hasSuffix("@") else {
            return "found \(name.debugDescription), expected a principal such as alice, with or without @REALM"
        }
        // A backslash that escapes nothing is part of a Windows logon name.
        guard name.replacing(/\\[\/@\\]/, with: "").contains("\\") else { return nil }
        let user = name.split(separator: "\\").last ?? "alice"
        return "found '\(name)', a Windows logon name; expected a principal such as \(user), with or without @REALM"
    }

    /// One of the forms of libkrb5's `X509_user_identity`. A path without a type is refused, although libkrb5 treats it as a file, because
    /// that is undocumented.
    static let certificateIdentity = text { text in
        let types = ["FILE:", "DIR:", "PKCS12:", "PKCS11:", "ENV:"]
        // `PKCS11:` without a module uses the plugin's default module.
        guard text != "PKCS11:", !types.contains(where: { text.hasPrefix($0) && text.count > $0.count }) else { return nil }
        return "found \(text.debugDescription), expected a certificate as libkrb5 names it, such as FILE:/etc/cert.pem,/etc/key.pem, "
            + "PKCS12:/etc/me.p12 or PKCS11:"
    }

    /// A cache name with a type. A path without one would depend on the working directory.
    static let armorCache = text { text in
        let types = ["FILE:/", "DIR:/", "DIR::/", "KCM:", "KEYRING:"]
        guard !types.contains(where: text.hasPrefix) else { return nil }
        return "found \(text.debugDescription), expected a credential cache with its type, such as FILE:/run/machine-ticket or KCM:"
    }

    static let url = text { text in
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil else {
            return "found \(text.debugDescription), expected a URL that begins with https://"
        }
        return nil
    }

    /// The URL of a PAC file. Only root and the user can change a file, but a page over plain http can be changed on the way; it is
    /// permitted because many sites have no other.
    static let proxyAutoConfigURL = text { text in
        if let url = URL(string: text) {
            let hasHost = url.host().map { !$0.isEmpty } ?? false
            switch url.scheme?.lowercased() {
            case "http", "https": if hasHost { return nil }
            case "file": if !hasHost, url.path.hasPrefix("/") { return nil }
            default: break
            }
        }
        return "found \(text.debugDescription), expected a URL such as https://www.example.com/proxy.pac or file:///etc/proxy.pac"
    }

    /// Entries as in the variable `no_proxy`: hosts, domains, addresses and networks, with or without a port.
    static let noProxy = texts { text in
        guard let ignored = NoProxy(entries: [text]).ignored.first else {
            // A separator would make several entries of one.
            return text.isEmpty || text.contains { $0 == "," || $0.isWhitespace }
                ? "found \(text.debugDescription), \(expectedNoProxy)" : nil
        }
        return "found \(text.debugDescription), which \(ignored.reason)"
    }

    private static let expectedNoProxy = "expected one entry of no_proxy, such as .example.com or 10.0.0.0/8"

    /// Programs in Linux's forms. A Mac's bundle identifiers are ignored.
    static let callers = texts { text in
        // A pattern, a relative path or a prefix in another case would match no program.
        let isPattern = text.contains(where: "*?[".contains)
        switch CredentialCaller(text) {
        case .unit(let name) where isPattern || !name.hasSuffix(".service") && !name.hasSuffix(".scope"):
            return "found \(text.debugDescription), expected a unit with its type, such as unit:backup.service"
        case .executable(let path), .folder(let path):
            let parts = path.split(separator: "/")
            let isPlain = !isPattern && !path.contains("//") && !parts.contains(".") && !parts.contains("..")
            return isPlain ? nil : "found \(text.debugDescription), \(expectedCaller), without wildcards, . and .."
        case nil where isPattern || text.contains("/") || text.lowercased().hasPrefix("unit:"):
            return "found \(text.debugDescription), \(expectedCaller), or a unit, such as unit:backup.service"
        default: return nil
        }
    }

    private static let expectedCaller =
        "expected the path of a program, such as /usr/bin/curl, or of a directory with a final slash, such as /opt/app/"

    /// Users or groups, each with its hosts.
    static let allowedPeers = ValueCheck { value in
        (value.dictionary ?? [:]).sorted { $0.key < $1.key }.flatMap { name, hosts in
            let faults = hostRules.faults(hosts).map { KeyChecker.Fault($0.verdict, at: [.key(name)] + $0.steps) }
            guard AllowedPeer.Peer(name) == nil else { return faults }
            let reason = "found \(name.debugDescription), expected a user or a group by number, such as uid:33 or gid:33"
            return [KeyChecker.Fault(.badValue(reason: reason), at: [.key(name)])] + faults
        }
    }

    /// Realms, each with its DNS suffixes. No suffix maps to two realms.
    static let domainRealmMapping = ValueCheck { value in
        var faults: [KeyChecker.Fault] = []
        var realms: [HostRule: String] = [:]
        for (realm, list) in (value.dictionary ?? [:]).sorted(by: { $0.key < $1.key }) {
            if let reason = realmFault(realm) { faults.append(KeyChecker.Fault(.badValue(reason: reason), at: [.key(realm)])) }
            faults += hostRules.faults(list).map { KeyChecker.Fault($0.verdict, at: [.key(realm)] + $0.steps) }
            for (offset, text) in (list.strings ?? []).enumerated() {
                guard let rule = try? HostRule(text) else { continue }
                if let other = realms[rule], other != realm {
                    let reason = "\(rule) is also mapped to \(other); a suffix maps to one realm"
                    faults.append(KeyChecker.Fault(.badValue(reason: reason), at: [.key(realm), .index(offset)]))
                }
                realms[rule] = realm
            }
        }
        return faults
    }
}
