import Foundation
import SignOnPolicy

/// Checks one key: its name, the type of its value, and the value.
enum KeyChecker {
    /// A fault, and the steps from the key to the faulty part of its value.
    struct Fault {
        let steps: [ProfileKeyPath.Component]
        let verdict: KeyVerdict

        init(_ verdict: KeyVerdict, at steps: [ProfileKeyPath.Component] = []) {
            self.steps = steps
            self.verdict = verdict
        }
    }

    /// The verdict for a key whose value has no fault, or is not checked.
    static func verdict(name: String, value: ProfileValue, place: ProfileKey.Place) -> KeyVerdict {
        guard let key = ProfileKey.named(name, in: place) else {
            return Spelling.suggestion(for: name, in: place).map(KeyVerdict.misspelt(suggestion:)) ?? .unknown
        }
        return switch key.state {
        case .used: .used
        case .notApplicable(let reason): .notApplicable(reason: reason)
        }
    }

    /// The faults in the value of a known key.
    static func faults(in value: ProfileValue, of key: ProfileKey) -> [Fault] {
        let mismatches = typeFaults(value, key.type)
        guard mismatches.isEmpty else { return mismatches }
        if let number = value.integer, number < 0 {
            return [Fault(.badValue(reason: "found \(number), expected a non-negative number"))]
        }
        return switch key.name {
        case "Realm": realmFault(value.string ?? "").map { [Fault($0)] } ?? []
        case "Type": only(["Credential"], value)
        case "ExtensionIdentifier": only([ProfileReader.extensionIdentifier], value)
        case "TeamIdentifier": only(["apple"], value)
        case "PayloadType" where key.place == .payload: only([ProfileReader.payloadType], value)
        case "ScreenLockedBehavior": only(ScreenLockedBehavior.allCases.map(\.rawValue), value)
        case "credentialUseMode": only(CredentialUseMode.allCases.map(\.rawValue), value)
        case "Hosts": each(value) { text throws(HostRuleError) in _ = try HostRule(text) }
        case let name where HostList(rawValue: name) != nil: each(value) { text throws(HostRuleError) in _ = try HostRule(text) }
        case let name where SessionLimitKey(rawValue: name) != nil:
            SessionLimitKey(rawValue: name).map { sessionLimitFaults(value, of: $0) } ?? []
        case CertificateIdentityKey.name: certificateIdentityFault(value.string ?? "").map { [Fault($0)] } ?? []
        case ArmorCacheKey.name: armorCacheFault(value.string ?? "").map { [Fault($0)] } ?? []
        case RenewalKey.name: renewalFault(value).map { [Fault($0)] } ?? []
        case "ServicePrincipals": servicePrincipalFaults(value.dictionary ?? [:])
        case AllowedPeerEntry.key: allowedPeerFaults(value.dictionary ?? [:])
        case "credentialBundleIdACL", "DeniedBundleIdentifiers": callerFaults(value.strings ?? [])
        case "preferredKDCs": each(value) { text throws(HostRuleError) in _ = try PreferredKDC(text) }
        case "principalName": principalFault(value.string ?? "").map { [Fault($0)] } ?? []
        case "domainRealmMapping": mappingFaults(value.dictionary ?? [:])
        case "pwChangeURL": urlFault(value.string ?? "").map { [Fault($0)] } ?? []
        default: []
        }
    }

    private static func typeFaults(_ value: ProfileValue, _ type: ProfileKey.ValueType) -> [Fault] {
        switch (type, value) {
        case (.string, .string), (.integer, .integer), (.boolean, .boolean), (.data, .data), (.array, .array),
            (.dictionary, .dictionary), (.number, .integer), (.number, .real), (.any, _):
            []
        case (.strings, .array(let elements)):
            elements.enumerated().compactMap { offset, element in
                element.string == nil ? Fault(.wrongType(expected: "a string", found: found(element)), at: [.index(offset)]) : nil
            }
        case (.stringsByName, .dictionary(let entries)):
            entries.sorted { $0.key < $1.key }.flatMap { name, list in
                typeFaults(list, .strings).map { Fault($0.verdict, at: [.key(name)] + $0.steps) }
            }
        case (.stringByName, .dictionary(let entries)):
            entries.sorted { $0.key < $1.key }.compactMap { name, element in
                element.string == nil ? Fault(.wrongType(expected: "a string", found: found(element)), at: [.key(name)]) : nil
            }
        default: [Fault(.wrongType(expected: type.description, found: found(value)))]
        }
    }

    /// The type, followed by the value if it is short, so that the user finds it in the file.
    private static func found(_ value: ProfileValue) -> String {
        switch value {
        case .string, .integer, .real, .boolean:
            let text = String(describing: value)
            return text.utf8.count <= 60 ? "\(value.typeName) (\(text))" : value.typeName
        default: return value.typeName
        }
    }

    private static func only(_ allowed: [String], _ value: ProfileValue) -> [Fault] {
        guard let text = value.string, !allowed.contains(text) else { return [] }
        return [Fault(.badValue(reason: "found \(text.debugDescription), expected \(allowed.joined(separator: " or "))"))]
    }

    static func each(_ value: ProfileValue, _ check: (String) throws(HostRuleError) -> Void) -> [Fault] {
        var faults: [Fault] = []
        for (offset, text) in (value.strings ?? []).enumerated() {
            do {
                try check(text)
            } catch {
                faults.append(Fault(.badValue(reason: error.reason), at: [.index(offset)]))
            }
        }
        return faults
    }

    /// Checks a realm of RFC 4120's domain style (section 6.1). Because the realm is written to krb5's configuration, characters that could
    /// end a word there are refused.
    static func realmFault(_ realm: String) -> KeyVerdict? {
        let letters = realm.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard letters, (1...255).contains(realm.utf8.count) else {
            return .badValue(
                reason: "found \(realm.debugDescription), expected a realm such as EXAMPLE.COM (letters, digits, dots, hyphens)"
            )
        }
        return nil
    }

    static func principalFault(_ name: String) -> KeyVerdict? {
        let isPrintable = name.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.properties.generalCategory != .control }
        guard !name.isEmpty, isPrintable, !name.hasPrefix("@"), !name.hasSuffix("@") else {
            return .badValue(reason: "found \(name.debugDescription), expected a principal such as alice, with or without @REALM")
        }
        // A backslash that escapes nothing is part of a Windows logon name.
        guard name.replacing(/\\[\/@\\]/, with: "").contains("\\") else { return nil }
        let user = name.split(separator: "\\").last ?? "alice"
        return .badValue(reason: "found '\(name)', a Windows logon name; expected a principal such as \(user), with or without @REALM")
    }

    private static func urlFault(_ text: String) -> KeyVerdict? {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil else {
            return .badValue(reason: "found \(text.debugDescription), expected a URL that begins with https://")
        }
        return nil
    }

    /// Checks each realm, each DNS suffix, and that no suffix maps to two realms.
    private static func mappingFaults(_ mapping: [String: ProfileValue]) -> [Fault] {
        var faults: [Fault] = []
        var realms: [HostRule: String] = [:]
        for (realm, list) in mapping.sorted(by: { $0.key < $1.key }) {
            if let fault = realmFault(realm) { faults.append(Fault(fault, at: [.key(realm)])) }
            faults += each(list) { text throws(HostRuleError) in _ = try HostRule(text) }
                .map { Fault($0.verdict, at: [.key(realm)] + $0.steps) }
            for (offset, text) in (list.strings ?? []).enumerated() {
                guard let rule = try? HostRule(text) else { continue }
                if let other = realms[rule], other != realm {
                    let reason = "\(rule) is also mapped to \(other); a suffix maps to one realm"
                    faults.append(Fault(.badValue(reason: reason), at: [.key(realm), .index(offset)]))
                }
                realms[rule] = realm
            }
        }
        return faults
    }
}
