public import Foundation
public import SignOnPolicy
internal import SystemSupport

/// A configuration profile: the file that defines, on Macs and here on Linux, which realm answers which hosts.
///
/// The file is the `.mobileconfig` that a device management system sends to Macs (XML or binary property list), or YAML with the same keys.
/// A file with a fault in a key that has an effect is refused as a whole; ``check(data:source:)`` still reports on all its keys. A signed
/// file (CMS) is refused if its signature does not match. ``signature`` states whether the signer is trusted, and a ``ProfilePolicy`` can
/// require this. The verification runs the machine's `openssl`, which takes about ten milliseconds.
public struct Profile: Sendable, Hashable {
    /// The name of the file as the caller passed it.
    public let source: String
    /// The payloads for the Kerberos extension.
    public let payloads: [ExtensionPayload]
    /// The report on every key.
    public let report: ProfileReport
    /// The file's contents, to be checked again if the machine's policy changes.
    let data: Data
    /// The user's principals by realm; see ``UserPrincipals``.
    var userPrincipals: [String: String] = [:]
    /// The file's signature; nil if it is not signed.
    public var signature: ProfileSignature? { report.signature }

    /// Reads a file as the machine's policy permits, on a thread that may block for a disk and for the verification of a signature.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - search: The search whose policy applies; see ``ProfileSearch/policy()``. It searches no directory.
    /// - Throws: ``ProfileError`` if the policy cannot be used, or if the file cannot be read, is not a profile, has a fault in a key that
    ///   has an effect, or is refused by the policy.
    public static func load(_ path: String, search: ProfileSearch = ProfileSearch()) async throws(ProfileError) -> Profile {
        try await BlockingCall.run { Result { () throws(ProfileError) in try Profile(contentsOf: path, policy: search.policy()) } }.get()
    }

    /// Reads a file with a policy. May block for a disk and for the verification of a signature: in a task, use ``load(_:search:)``.
    ///
    /// Throws a ``ProfileError`` if it cannot be read, is not a profile, has a fault in a key that has an effect, or is refused by the
    /// policy. ``ProfileSearch/policy()`` is the machine's policy.
    public init(contentsOf path: String, policy: ProfilePolicy) throws(ProfileError) {
        try self.init(data: ProfileFile.read(path: path), source: path, policy: policy)
    }

    /// Reads a file without the machine's policy: even if that requires signed profiles, an unsigned one is accepted. A signature that
    /// does not match is refused; see ``init(contentsOf:policy:)``.
    package init(contentsOf path: String) throws(ProfileError) { try self.init(contentsOf: path, policy: .none) }

    /// Parses a profile's contents; `source` is the name that messages and reasons use. The default policy requires no signature.
    /// May block: if the data is signed, runs the machine's `openssl`.
    ///
    /// Throws a ``ProfileError`` if it is not a profile, has a fault in a key that has an effect, or is refused by the policy.
    public init(data: Data, source: String, policy: ProfilePolicy = .none) throws(ProfileError) {
        let reader = try ProfileReader(data: data, source: source, policy: policy)
        if let rejection = reader.report.rejection { throw rejection }
        self.source = source
        self.data = data
        payloads = reader.payloads
        report = reader.report
    }

    /// The configurations that the profile defines, one per payload, with the user's principal for its realm, which ``ProfileSearch``
    /// reads.
    public var configurations: [ExtensionConfiguration] {
        payloads.map { payload in
            var configuration = payload.configuration(source: source)
            configuration.userPrincipal = userPrincipals[payload.realm]
            return configuration
        }
    }

    /// Reports on every key, even if the profile has faults; see ``ProfileReport/check(data:source:policy:)`` for what it throws and when
    /// it blocks.
    public static func check(data: Data, source: String) throws(ProfileError) -> ProfileReport {
        try ProfileReport.check(data: data, source: source)
    }

    /// Reports on every key of a file, which it reads on the caller's thread; see ``ProfileReport/check(data:source:policy:)`` for what it
    /// throws and when it blocks.
    public static func check(contentsOf path: String) throws(ProfileError) -> ProfileReport {
        try ProfileReport.check(contentsOf: path)
    }

    /// Compares source, payloads, report and the user's principals. Equal profiles may be written differently.
    public static func == (left: Profile, right: Profile) -> Bool {
        left.source == right.source && left.payloads == right.payloads && left.report == right.report
            && left.userPrincipals == right.userPrincipals
    }

    /// Hashes source and payloads.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(source)
        hasher.combine(payloads)
    }
}

/// Parses a file: creates the report on every key, and the usable payloads.
struct ProfileReader {
    static let payloadType = "com.apple.extensiblesso"
    static let extensionIdentifier = "com.apple.AppSSOKerberos.KerberosExtension"

    private(set) var report: ProfileReport
    private(set) var payloads: [ExtensionPayload] = []
    private var hosts: [PayloadChecker.Host] = []
    private let examinesMachine: Bool

    /// Parses a file.
    ///
    /// - Parameters:
    ///   - policy: The machine's policy. A signature is verified even if the policy does not require one.
    ///   - examinesMachine: Whether the report has remarks about programs of this machine that the profile names.
    init(data: Data, source: String, policy: ProfilePolicy, examinesMachine: Bool = false) throws(ProfileError) {
        report = ProfileReport(source: source)
        self.examinesMachine = examinesMachine
        var content = data
        if data.count <= ProfileDocument.maximumSize, ProfileDocument.isSigned(data) {
            (content, report.signature) = try ProfileSignature.check(data, source: source, anchors: policy.anchors)
        }
        report.refusal = policy.refusal(of: report.signature, source: source)
        let document = try ProfileDocument(data: content, source: source)
        for envelope in document.envelopes { checkEnvelope(envelope) }
        for entry in document.entries { read(entry, format: document.format) }
        checkFile()
    }

    private mutating func checkEnvelope(_ envelope: ProfileDocument.Envelope) {
        for (name, value) in envelope.keys.sorted(by: { $0.key < $1.key }) {
            let verdict = KeyChecker.verdict(name: name, place: .envelope)
            let path = envelope.path.appending(key: name)
            report.rows.append(ProfileReportRow(key: name, path: path, payloadIndex: nil, value: value, verdict: verdict, isUsed: false))
        }
    }

    private mutating func read(_ entry: ProfileDocument.Entry, format: ProfileDocument.Format) {
        guard let keys = entry.value.dictionary else {
            let verdict = KeyVerdict.wrongType(expected: "a dictionary with a payload's keys", found: entry.value.typeName)
            let row = ProfileReportRow(
                key: "PayloadContent",
                path: entry.path,
                payloadIndex: entry.index,
                value: entry.value,
                verdict: verdict,
                isUsed: true
            )
            report.rows.append(row)
            return
        }
        if let reason = ProfileReader.reasonToIgnore(keys) {
            report.ignoredPayloads.append(
                IgnoredPayload(payloadIndex: entry.index, path: entry.path, type: keys["PayloadType"]?.string, reason: reason)
            )
            return
        }
        report.kerberosPayloadCount += 1
        var checker = PayloadChecker(index: entry.index, path: entry.path, keys: keys, examinesMachine: examinesMachine)
        checker.check(isPropertyList: format == .propertyList)
        report.rows += checker.rows
        report.advice += checker.advice
        hosts += checker.hosts
        if let payload = ExtensionPayload(index: entry.index, path: entry.path, keys: keys) { payloads.append(payload) }
    }

    /// Why a payload is not for the Kerberos extension; nil if it is. A misspelled name counts as meant for the extension, so that it is
    /// reported as a bad value.
    private static func reasonToIgnore(_ keys: [String: ProfileValue]) -> String? {
        if let type = keys["PayloadType"]?.string, type != payloadType, !Spelling.isClose(type, to: payloadType) {
            return "payloads of type \(ProfileKeyPath.readable(type)) configure something else"
        }
        if keys["Type"]?.string == "Redirect" {
            return "its Type is Redirect, and the Kerberos extension answers challenges (Type Credential)"
        }
        if let identifier = keys["ExtensionIdentifier"]?.string, !Spelling.isClose(identifier, to: extensionIdentifier) {
            return "it is for the extension \(ProfileKeyPath.readable(identifier))"
        }
        return nil
    }

    /// Checks the combination of all payloads.
    private mutating func checkFile() {
        var seen: [HostRule: ProfileKeyPath] = [:]
        for host in hosts {
            guard let first = seen[host.rule] else {
                seen[host.rule] = host.path
                continue
            }
            let sentence =
                "The host \(host.rule) is here and at \(first). A host belongs to one payload; remove one of the two."
            report.advice.append(ProfileAdvice(.error, path: host.path, payloadIndex: host.payloadIndex, sentence))
        }
        let defaults = payloads.filter { $0.keys["ExtensionData"]?.dictionary?["isDefaultRealm"]?.boolean == true }
        if defaults.count > 1, let last = defaults.last {
            let realms = defaults.map(\.realm).joined(separator: ", ")
            let path = last.path.appending(key: "ExtensionData").appending(key: "isDefaultRealm")
            report.advice.append(
                ProfileAdvice(.warning, path: path, payloadIndex: last.index, "More than one realm is the default: \(realms). Keep one.")
            )
        }
    }
}
