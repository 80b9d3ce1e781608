public import Foundation

/// The administrator's requirements for profiles: the file `policy.yaml` in the system-wide directory.
///
/// ```yaml
/// RequireSignedProfiles: true
/// ProfileAnchors: [/etc/ksso/anchors/profiles.pem]
/// ```
public struct ProfilePolicy: Sendable, Hashable {
    /// Whether every profile, in any place, must have a signature that leads to an anchor: `RequireSignedProfiles`.
    public let requiresSignature: Bool
    /// The PEM certificates that a signature may lead to: `ProfileAnchors`. If there are none, the system's are used.
    public let anchors: [Data]

    /// Creates a policy.
    public init(requiresSignature: Bool = false, anchors: [Data] = []) {
        self.requiresSignature = requiresSignature
        self.anchors = anchors
    }

    /// The policy of a machine without a policy file: profiles need no signature.
    public static let none = ProfilePolicy()

    /// The name of the policy's file in the system-wide directory. There it is not a profile.
    package static let fileName = "policy.yaml"
    private static let requirementKey = "RequireSignedProfiles"
    private static let anchorsKey = "ProfileAnchors"

    /// Reads the policy of a directory; ``none`` if there is none.
    ///
    /// Throws a ``ProfileError`` with the code `policyUnusable` if the policy cannot be used. In that case no profile can be used.
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
            let reason = "\(fault) This file says whether profiles must be signed: until it is fixed, no profile is used."
            throw ProfileError(.policyUnusable, source: path, keyPath: error.keyPath, reason: reason)
        }
    }

    private init(_ data: Data, path: String, trust: ProfileFile.Trust) throws(ProfileError) {
        func fault(_ key: String, _ reason: String) -> ProfileError {
            ProfileError(.badValue, source: path, keyPath: ProfileKeyPath().appending(key: key), reason: reason)
        }
        let documents = try ProfileValue.documents(yaml: String(decoding: data, as: UTF8.self), source: path)
        guard documents.count <= 1, let keys = documents.isEmpty ? [:] : documents[0].dictionary else {
            throw ProfileError(.malformed, source: path, reason: "Expected one dictionary with \(Self.requirementKey).")
        }
        if let other = keys.keys.sorted().first(where: { ![Self.requirementKey, Self.anchorsKey].contains($0) }) {
            throw fault(
                other,
                "Not a key of the policy; the keys are \(Self.requirementKey) and \(Self.anchorsKey). A profile requires another file name."
            )
        }
        let required = keys[Self.requirementKey] ?? .boolean(false)
        guard let requiresSignature = required.boolean else {
            throw fault(Self.requirementKey, "Found \(required.typeName), expected a boolean (true or false).")
        }
        let list = keys[Self.anchorsKey] ?? .array([])
        guard let paths = list.strings, paths.allSatisfy({ $0.hasPrefix("/") }) else {
            throw fault(Self.anchorsKey, "Expected an array of absolute paths of certificate files (PEM).")
        }
        // The system's anchors are trusted for every web server. A signature that leads to one does not mean that the signer may configure
        // this machine.
        guard !requiresSignature || !paths.isEmpty else {
            throw fault(
                Self.anchorsKey,
                "\(Self.requirementKey) requires the certificates that a signature may chain to: list their files here."
            )
        }
        var anchors: [Data] = []
        for anchor in paths {
            let data = try ProfileFile.read(path: anchor, trust: trust)
            guard String(decoding: data, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
                throw fault(Self.anchorsKey, "\(anchor) contains no certificate in PEM.")
            }
            anchors.append(data)
        }
        self.init(requiresSignature: requiresSignature, anchors: anchors)
    }

    /// The error for a profile that the policy refuses; nil if it accepts the profile.
    func refusal(of signature: ProfileSignature?, source: String) -> ProfileError? {
        guard requiresSignature, signature?.isTrusted != true else { return nil }
        guard let signature else {
            let reason = "The profile is not signed, but this machine's policy requires signed profiles (\(Self.requirementKey)). Sign it."
            return ProfileError(.unsigned, source: source, reason: reason)
        }
        let reason =
            "The profile is \(signature). This machine's policy accepts only profiles with a signature trusted by its \(Self.anchorsKey)."
        return ProfileError(.untrustedSigner, source: source, reason: reason)
    }
}
