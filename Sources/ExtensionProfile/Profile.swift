public import Foundation
public import HTTPNegotiate

/// A configuration profile: the file that tells Macs, and here Linux, which realm answers which hosts.
///
/// The file is the `.mobileconfig` that a device management sends to Macs (XML or binary property list), or YAML with the same keys.
/// A file with a fault in a key that is acted on is refused as a whole; ``check(data:source:)`` still reports on all its keys. A signed
/// file (CMS) is refused when its signature does not match; whether the signer counts says ``signature``, and a ``ProfilePolicy`` can
/// demand it. The check runs the machine's `openssl`, for some ten milliseconds.
public struct Profile: Sendable, Hashable {
    /// The file, as it was named.
    public let source: String
    /// The payloads for the Kerberos extension.
    public let payloads: [ExtensionPayload]
    /// What was made of every key.
    public let report: ProfileReport
    /// What was read, to be checked again where the machine's policy has changed.
    let data: Data
    /// Who signed the file; nil where nobody did.
    public var signature: ProfileSignature? { report.signature }

    /// Reads a file.
    ///
    /// Throws a ``ProfileError`` when it cannot be read, is no profile, has a fault in a key that is acted on, or the policy refuses it.
    public init(contentsOf path: String, policy: ProfilePolicy) throws(ProfileError) {
        try self.init(data: ProfileFile.read(path: path), source: path, policy: policy)
    }

    /// Reads a file of a machine that demands nothing; see ``init(contentsOf:policy:)``.
    public init(contentsOf path: String) throws(ProfileError) { try self.init(contentsOf: path, policy: .none) }

    /// Reads a profile's content; `source` is the name that messages and verdicts use.
    ///
    /// Throws a ``ProfileError`` when it is no profile, has a fault in a key that is acted on, or the policy refuses it.
    public init(data: Data, source: String, policy: ProfilePolicy = .none) throws(ProfileError) {
        let reader = try ProfileReader(data: data, source: source, policy: policy)
        if let rejection = reader.report.rejection { throw rejection }
        self.source = source
        self.data = data
        payloads = reader.payloads
        report = reader.report
    }

    /// What the profile says to those who answer challenges, one for each payload.
    public var configurations: [ExtensionConfiguration] { payloads.map { $0.configuration(source: source) } }

    /// Reports on every key without refusing a profile for its faults; see ``ProfileReport/check(data:source:policy:)`` for what it throws.
    public static func check(data: Data, source: String) throws(ProfileError) -> ProfileReport {
        try ProfileReport.check(data: data, source: source)
    }

    /// Reports on every key of a file; see ``ProfileReport/check(data:source:policy:)`` for what it throws.
    public static func check(contentsOf path: String) throws(ProfileError) -> ProfileReport {
        try ProfileReport.check(contentsOf: path)
    }

    /// Whether both say the same, although it may be written in other words.
    public static func == (left: Profile, right: Profile) -> Bool {
        left.source == right.source && left.payloads == right.payloads && left.report == right.report
    }

    /// Source and payloads.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(source)
        hasher.combine(payloads)
    }
}
