public import Foundation

/// What the machine's administrator demands of profiles: the file `policy.yaml` in the machine's directory.
///
/// ```yaml
/// RequireSignedProfiles: true
/// ProfileAnchors: [/etc/ksso/anchors/profiles.pem]
/// ```
public struct ProfilePolicy: Sendable, Hashable {
    /// Whether a profile counts only with a signature that leads to an anchor, wherever it is: `RequireSignedProfiles`.
    public let requiresSignature: Bool
    /// The certificates that a signature may lead to, in PEM; none is the system's: `ProfileAnchors`.
    public let anchors: [Data]

    /// A policy of one's own.
    public init(requiresSignature: Bool = false, anchors: [Data] = []) {
        self.requiresSignature = requiresSignature
        self.anchors = anchors
    }

    /// The policy of a machine that has none: a profile may be unsigned.
    public static let none = ProfilePolicy()

    /// The file's name in the machine's directory, where it is no profile.
    static let fileName = "policy.yaml"
    private static let requirementKey = "RequireSignedProfiles"
    private static let anchorsKey = "ProfileAnchors"

    /// Reads the file of a directory; ``none`` when there is none.
    ///
    /// Throws a ``ProfileError`` with the code `policyUnusable` when it can't be used: then no profile can be.
    init(directory: String, trust: ProfileFile.Trust) throws(ProfileError) {
        let path = "\(directory)/\(Self.fileName)"
        guard ProfileFile.exists(path) else {
            self = .none
            return
        }
        do throws(ProfileError) {
            guard let folder = try ProfileFile.directory(path: directory, trust: trust) else {
                self = .none
                return
            }
            try self.init(folder.read(name: Self.fileName, trust: trust), path: path, trust: trust)
        } catch {
            let fault = error.source == path ? error.reason : error.message
            let reason = "\(fault) This file says whether profiles must be signed: until it is mended, none is used."
            throw ProfileError(.policyUnusable, source: path, keyPath: error.keyPath, reason: reason)
        }
    }

    private init(_ data: Data, path: String, trust: ProfileFile.Trust) throws(ProfileError) {
        func fault(_ key: String, _ reason: String) -> ProfileError {
            ProfileError(.badValue, source: path, keyPath: ProfileKeyPath().appending(key: key), reason: reason)
        }
        let documents = try ProfileValue.documents(yaml: String(decoding: data, as: UTF8.self), source: path)
        guard documents.count <= 1, let keys = documents.isEmpty ? [:] : documents[0].dictionary else {
            throw ProfileError(.malformed, source: path, reason: "One dictionary belongs here, with \(Self.requirementKey) in it.")
        }
        if let other = keys.keys.sorted().first(where: { ![Self.requirementKey, Self.anchorsKey].contains($0) }) {
            throw fault(
                other,
                "Not a key of the policy; these are \(Self.requirementKey) and \(Self.anchorsKey). A profile needs another name."
            )
        }
        let required = keys[Self.requirementKey] ?? .boolean(false)
        guard let requiresSignature = required.boolean else {
            throw fault(Self.requirementKey, "Found \(required.typeName), expected a boolean (true or false).")
        }
        let list = keys[Self.anchorsKey] ?? .array([])
        guard let paths = list.strings, paths.allSatisfy({ $0.hasPrefix("/") }) else {
            throw fault(Self.anchorsKey, "Expected an array of files with certificates (PEM), each from the root on.")
        }
        // The system's anchors vouch for every web server: a signature by one of them says nothing of who may configure this machine.
        guard !requiresSignature || !paths.isEmpty else {
            throw fault(
                Self.anchorsKey,
                "\(Self.requirementKey) wants the certificates that a signature may lead to: name their files here."
            )
        }
        var anchors: [Data] = []
        for anchor in paths {
            let data = try ProfileFile.read(path: anchor, trust: trust)
            guard String(decoding: data, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
                throw fault(Self.anchorsKey, "\(anchor) holds no certificate in PEM.")
            }
            anchors.append(data)
        }
        self.init(requiresSignature: requiresSignature, anchors: anchors)
    }

    /// Why a profile is refused; nil when it is not.
    func refusal(of signature: ProfileSignature?, source: String) -> ProfileError? {
        guard requiresSignature, signature?.isTrusted != true else { return nil }
        guard let signature else {
            let reason = "The profile is not signed, and this machine's policy wants signed ones (\(Self.requirementKey)). Have it signed."
            return ProfileError(.unsigned, source: source, reason: reason)
        }
        let reason = "The profile is \(signature). This machine's policy takes none but those that its \(Self.anchorsKey) vouch for."
        return ProfileError(.untrustedSigner, source: source, reason: reason)
    }
}
