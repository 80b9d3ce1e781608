import Crypto
import SwiftASN1

/// The signature algorithm of a certificate, and the hash function of its channel bindings.
struct SignatureScheme: Sendable {
    /// The name for messages.
    let name: String
    /// The hash function according to RFC 5929 section 4.1; nil if there is none, or if swift-crypto does not implement it.
    let hash: (any HashFunction.Type)?

    /// Determines the scheme from an algorithm identifier.
    ///
    /// - Throws: A SwiftASN1 error if the parameters of RSASSA-PSS cannot be read.
    init(_ identifier: AlgorithmIdentifier) throws {
        if identifier.algorithm == Self.pss {
            guard let parameters = identifier.parameters else {
                throw ASN1Error.invalidASN1Object(reason: "RSASSA-PSS without parameters")
            }
            self = Self(try PSSParameters(derEncoded: parameters))
        } else {
            self = Self.known[identifier.algorithm] ?? Self("the unknown algorithm \(Self.text(identifier.algorithm))", nil)
        }
    }

    /// RFC 5929 uses a signature's hash function only if there is exactly one. A different hash function for the mask is a second one.
    private init(_ parameters: PSSParameters) {
        guard parameters.hash == parameters.maskHash else {
            self = Self("RSASSA-PSS and two hash functions", nil)
            return
        }
        let hash = Self.hashes[parameters.hash] ?? Self("the unknown hash function \(Self.text(parameters.hash))", nil)
        self = Self("RSASSA-PSS and \(hash.name)", hash.hash)
    }

    private init(_ name: String, _ hash: (any HashFunction.Type)?) {
        self.name = name
        self.hash = hash
    }

    /// The identifier's numbers, truncated so that a certificate cannot fill a log.
    private static func text(_ identifier: ASN1ObjectIdentifier) -> String {
        let text = identifier.description
        return text.utf8.count <= 80 ? text : text.prefix(80) + "…"
    }

    private static let pss: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 10]

    /// The hash functions in RSASSA-PSS parameters. SHA-1 is replaced by SHA-256.
    private static let hashes: [ASN1ObjectIdentifier: Self] = [
        [1, 3, 14, 3, 2, 26]: Self("SHA-1", SHA256.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 1]: Self("SHA-256", SHA256.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 2]: Self("SHA-384", SHA384.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 3]: Self("SHA-512", SHA512.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 4]: Self("SHA-224", nil),
        [2, 16, 840, 1, 101, 3, 4, 2, 8]: Self("SHA3-256", SHA3_256.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 9]: Self("SHA3-384", SHA3_384.self),
        [2, 16, 840, 1, 101, 3, 4, 2, 10]: Self("SHA3-512", SHA3_512.self),
    ]

    /// The signature algorithms without relevant parameters. MD5 and SHA-1 are replaced by SHA-256.
    private static let known: [ASN1ObjectIdentifier: Self] = [
        [1, 2, 840, 113_549, 1, 1, 4]: Self("RSA and MD5", SHA256.self),
        [1, 2, 840, 113_549, 1, 1, 5]: Self("RSA and SHA-1", SHA256.self),
        // Defined by the Open Systems Environment workshop, and written by old tools.
        [1, 3, 14, 3, 2, 29]: Self("RSA and SHA-1", SHA256.self),
        [1, 2, 840, 113_549, 1, 1, 11]: Self("RSA and SHA-256", SHA256.self),
        [1, 2, 840, 113_549, 1, 1, 12]: Self("RSA and SHA-384", SHA384.self),
        [1, 2, 840, 113_549, 1, 1, 13]: Self("RSA and SHA-512", SHA512.self),
        [1, 2, 840, 113_549, 1, 1, 14]: Self("RSA and SHA-224", nil),
        [2, 16, 840, 1, 101, 3, 4, 3, 14]: Self("RSA and SHA3-256", SHA3_256.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 15]: Self("RSA and SHA3-384", SHA3_384.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 16]: Self("RSA and SHA3-512", SHA3_512.self),
        [1, 2, 840, 10_045, 4, 1]: Self("ECDSA and SHA-1", SHA256.self),
        [1, 2, 840, 10_045, 4, 3, 1]: Self("ECDSA and SHA-224", nil),
        [1, 2, 840, 10_045, 4, 3, 2]: Self("ECDSA and SHA-256", SHA256.self),
        [1, 2, 840, 10_045, 4, 3, 3]: Self("ECDSA and SHA-384", SHA384.self),
        [1, 2, 840, 10_045, 4, 3, 4]: Self("ECDSA and SHA-512", SHA512.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 10]: Self("ECDSA and SHA3-256", SHA3_256.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 11]: Self("ECDSA and SHA3-384", SHA3_384.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 12]: Self("ECDSA and SHA3-512", SHA3_512.self),
        [1, 2, 840, 10_040, 4, 3]: Self("DSA and SHA-1", SHA256.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 1]: Self("DSA and SHA-224", nil),
        [2, 16, 840, 1, 101, 3, 4, 3, 2]: Self("DSA and SHA-256", SHA256.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 3]: Self("DSA and SHA-384", SHA384.self),
        [2, 16, 840, 1, 101, 3, 4, 3, 4]: Self("DSA and SHA-512", SHA512.self),
        [1, 3, 101, 112]: Self("Ed25519", nil),
        [1, 3, 101, 113]: Self("Ed448", nil),
        [2, 16, 840, 1, 101, 3, 4, 3, 17]: Self("ML-DSA-44", nil),
        [2, 16, 840, 1, 101, 3, 4, 3, 18]: Self("ML-DSA-65", nil),
        [2, 16, 840, 1, 101, 3, 4, 3, 19]: Self("ML-DSA-87", nil),
    ]
}
