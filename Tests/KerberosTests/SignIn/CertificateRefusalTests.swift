import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The KDC's refusals of a certificate (RFC 4556 section 3.1.3), each with its meaning and what to do.
@Suite(.testRealm(TestRealmOptions(users: ["alice": "secret"], faultProxy: true)), .serialized)
struct CertificateRefusalTests {
    private static let refusals: [(code: KDCErrorCode, reason: String, advice: String)] = [
        (62, "does not trust the authority of the certificate", "NTAuth"),
        (63, "no certificate of an authority that this machine trusts", "pkinit_anchors"),
        (64, "cannot verify the signature", "the key belongs to the certificate"),
        (65, "Diffie-Hellman", "pkinit_dh_min_bits"),
        (70, "finds no chain from the certificate", "Add the intermediate certificates"),
        (71, "is not valid for the KDC", "openssl x509 -noout -dates"),
        (72, "has been revoked", "Request a new one"),
        (73, "cannot find out whether the certificate has been revoked", "revocation lists"),
        (74, "cannot find out whether the certificate has been revoked", "revocation lists"),
        (75, "belongs to another principal", "Pass the certificate of alice@EXAMPLE.TEST with --certificate"),
        (76, "not that of a KDC of this realm", "pkinit_kdc_hostname"),
        (77, "for another purpose", "1.3.6.1.5.2.3.4"),
        (78, "the algorithm with which the certificate is signed", "SHA-256"),
        (80, "the algorithm with which libkrb5 signs the request", "Update libkrb5"),
    ]

    @Test(arguments: refusals)
    func `each refusal of a certificate is explained and says what to do`(
        _ refusal: (code: KDCErrorCode, reason: String, advice: String)
    ) async throws {
        let realm = try TestRealm.required()
        try await realm.network.set(.error(refusal.code))
        let error = await expectFailure(.certificateRefused) { _ = try await realm.signIn() }
        #expect(error?.message.contains(refusal.reason) == true && error?.message.contains(refusal.advice) == true, "\(error as Any)")
        // A program distinguishes the refusals by the library's code.
        #expect(error?.libraryCode == -1_765_328_384 + refusal.code.rawValue)
    }
}
