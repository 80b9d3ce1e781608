import Crypto
import Subprocess
import Testing

@testable import TLSChannelBinding

/// The tls-server-end-point channel bindings of a certificate (RFC 5929).
struct TLSServerEndPointTests {
    @Test(arguments: try Certificate.all())
    func `every certificate has the expected bindings`(_ certificate: Certificate) throws {
        let outcome = try outcome(of: certificate.bytes())
        #expect(outcome.digest == certificate.digest)
        #expect(outcome.code == (certificate.digest == nil ? .undefined : nil))
    }

    /// The list in `Fixtures` matches its files, and openssl still computes the same digests.
    @Test(arguments: try Certificate.all())
    func `openssl reports the same algorithm and digest`(_ certificate: Certificate) async throws {
        let path = try certificate.path()
        // An algorithm without letters is an identifier for which some version of openssl has no name.
        if certificate.algorithm.contains(where: \.isLetter) {
            let text = try await openssl("x509", "-inform", "DER", "-in", path, "-noout", "-text")
            let lines = text.split(separator: "\n").map { $0.trimmingPrefix(while: \.isWhitespace) }
            let line = try #require(lines.first { $0.hasPrefix("Signature Algorithm: ") })
            #expect(line.split(separator: " ").last.map(String.init) == certificate.algorithm)
        }
        if let hash = certificate.hash {
            let digest = try await openssl("dgst", "-\(hash)", "-r", path).prefix { $0 != " " }
            #expect(try outcome(of: certificate.bytes()).digest == String(digest))
        }
    }

    private func openssl(_ arguments: String...) async throws -> String {
        let result = try await run(
            .name("openssl"),
            arguments: Arguments(arguments),
            output: .string(limit: 65536),
            error: .string(limit: 65536)
        )
        try #require(result.terminationStatus == .exited(0), "openssl \(arguments): \(result.standardError)")
        return result.standardOutput
    }

    /// The function in the article of KerberosSSO, for programs that cannot import this target.
    private func channelBindings<Hash: HashFunction>(certificate der: [UInt8], _ hash: Hash.Type) -> [UInt8] {
        Array("tls-server-end-point:".utf8) + Hash.hash(data: der)
    }

    @Test func `the example in the documentation computes the same bindings`() throws {
        for (name, hash) in [("rsa-sha1", SHA256.self), ("rsa-sha256", SHA256.self), ("ecdsa-sha384", SHA384.self)]
            as [(String, any HashFunction.Type)]
        {
            let der = try Certificate.named(name).bytes()
            #expect(try channelBindings(certificate: der, hash) == TLSServerEndPoint(certificate: der).applicationData)
        }
    }

    @Test func `bindings start with the registered prefix`() throws {
        let bindings = try TLSServerEndPoint(certificate: Certificate.named("ecdsa-sha256").bytes())
        #expect(bindings.applicationData.count == 21 + 32)
        #expect(String(decoding: bindings.applicationData.prefix(21), as: UTF8.self) == "tls-server-end-point:")
    }

    @Test func `bindings are equal only for the same certificate`() throws {
        let first = try TLSServerEndPoint(certificate: Certificate.named("rsa-sha1").bytes())
        #expect(try first == TLSServerEndPoint(certificate: Certificate.named("rsa-sha1").bytes()))
        #expect(try first != TLSServerEndPoint(certificate: Certificate.named("rsa-sha256").bytes()))
    }

    @Test(arguments: [
        ("ed25519", "signed with Ed25519 "), ("ed448", "signed with Ed448 "), ("ml-dsa-65", "signed with ML-DSA-65 "),
        ("rsa-sha224", "signed with RSA and SHA-224 "), ("pss-sha224", "signed with RSASSA-PSS and SHA-224 "),
        ("pss-sha256-mgf1-sha1", "signed with RSASSA-PSS and two hash functions "),
        ("unknown", "signed with the unknown algorithm 1.2.840.113549.1.1.127 "),
    ])
    func `the error for a certificate without bindings names the algorithm`(name: String, clause: String) throws {
        let message = try #require(try outcome(of: Certificate.named(name).bytes()).message)
        #expect(message.contains(clause), "\(message)")
        #expect(message.contains("Give the server a certificate"))
    }

    @Test func `a long algorithm identifier is truncated in the error`() throws {
        let identifier = der(0x06, Array(repeating: 0x2A, count: 100_000))
        let outcome = outcome(of: certificate(algorithm: der(Tag.sequence, identifier)))
        #expect(outcome.code == .undefined)
        #expect(try #require(outcome.message).utf8.count < 500)
    }

    /// Unexpected and missing parameters do not change the hash function.
    @Test(arguments: [[], der(Tag.null), der(Tag.sequence)])
    func `parameters of algorithms other than PSS are ignored`(_ parameters: [UInt8]) {
        for identifier in [Identifier.ecdsaSHA256, Identifier.oldRSASHA1] {
            let bytes = certificate(algorithm: der(Tag.sequence, identifier, parameters))
            #expect(outcome(of: bytes).digest == hexadecimal(SHA256.hash(data: bytes)))
        }
    }

    private func hexadecimal(_ digest: SHA256.Digest) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
