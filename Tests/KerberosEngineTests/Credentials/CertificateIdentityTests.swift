import Foundation
import Testing

@testable import KerberosEngine

/// Which PKINIT identities are accepted from a client of the agent or from a mark in a cache.
@Suite struct CertificateIdentityTests {
    @Test(
        arguments: [
            "FILE:/a.pem", "FILE:/a.pem,/a.key", "/a.pem,/a.key", "PKCS12:/a.p12", "PKCS12:/a,b.p12",
            "FILE:/é.pem,/\u{600}.key", "DIR:/certificates", "DIR:/certificates,b", "PKCS11:", "PKCS11:token=my card", "PKCS11:token=me",
            "PKCS11:slotid=1:certid=2:certlabel=it",
        ]
    )
    func `an identity with absolute paths and no PKCS11 module is harmless`(identity: String) {
        #expect(CertificateIdentity.isHarmless(identity))
    }

    @Test(
        arguments: [
            "", "FILE:", "FILE:a.pem", "FILE:/a.pem,a.key", "PKCS12:a.p12", "PKCS12:a,/b.p12", "PKCS12:",
            "DIR:.", "DIR:", "a.pem", "PKCS11", "PKCS11:a.so", "PKCS11:/a.so",
            "PKCS11:module_name=a.so", "PKCS11:module_name=/a.so:token=me", "PKCS11:token=me:/a.so", "PKCS11:token=me:module_name=a.so",
            "PKCS11:slotid=1\u{600}:/a.so", "PKCS11:slotid=1:\u{301}/a.so", "PKCS11:slotid=1\u{200d}:/a.so", "PKCS11:slotid=1\0:/a.so",
            "PKCS11:slotid=1\n:token=me", "FILE:/a\u{600},a.key", "FILE:/a\0", "FILE\u{600}:/a.pem", "\u{600}:/a.so",
            "PKCS11::a.so", "PKCS11:a.so:", "P\u{212a}CS11:", "P\u{212a}CS11:token=me", "ENV:NAME", "ENV:/NAME", "file:/a.pem", "pkcs11:",
            "XYZ:/a", ":/a",
        ]
    )
    func `a relative path, a PKCS11 module or an unknown identity type is harmful`(identity: String) {
        #expect(!CertificateIdentity.isHarmless(identity))
    }

    @Test(
        arguments: [
            ("PKCS11:module_name=/a.so", true), ("PKCS11:module_name=/a.so:certlabel=my card", true),
            ("PKCS11:module_name=/a.so:certid=01:certlabel=it", true), ("PKCS11:module_name=/a.so:token=me:certid=01", false),
            ("PKCS11:module_name=/a.so:slotid=1", false), ("PKCS11:module_name=/a.so.1", false),
            ("PKCS11:module_name=/a.so:", false),
            ("PKCS11:module_name=/a.so:/b.so", false), ("PKCS11:module_name=/a.so:certid=1:module_name=/b.so", false),
            ("PKCS11:module_name=/a.so:certid=\u{301}", false), ("PKCS11:module_name=/a.so:certid=1\0", false),
            ("PKCS11:module_name=/b.so:certid=1", false),
        ]
    )
    func `only options that select a certificate of a configured card are accepted`(identity: String, isSelection: Bool) {
        #expect(CertificateIdentity.isSelection(identity, of: "PKCS11:module_name=/a.so") == isSelection)
    }

    @Test func `no option is accepted for a file, or for a certificate that is selected`() {
        #expect(CertificateIdentity.isSelection("ENV:NAME", of: "ENV:NAME"))
        #expect(!CertificateIdentity.isSelection("ENV:NAME:certid=1", of: "ENV:NAME"))
        let selected = "PKCS11:module_name=/a.so:certlabel=it"
        #expect(CertificateIdentity.isSelection(selected, of: selected))
        #expect(!CertificateIdentity.isSelection("\(selected):certid=2", of: selected))
        #expect(CertificateIdentity.isSelection("e\u{301}", of: "e\u{301}"))
        #expect(!CertificateIdentity.isSelection("\u{e9}", of: "e\u{301}"))
    }

    /// In a FILE identity a comma separates the certificate from its key; in other types it is part of the path.
    @Test(
        arguments: [
            ("FILE:a.pem,b.key", "FILE:/here/a.pem,/here/b.key"), ("a.pem", "/here/a.pem"), ("PKCS12:a,b.p12", "PKCS12:/here/a,b.p12"),
            ("DIR:a,b", "DIR:/here/a,b"), ("PKCS12:/a.p12", "PKCS12:/a.p12"), ("PKCS11:token=me", "PKCS11:token=me"),
            ("ENV:NAME", "ENV:NAME"), ("FILE:/a\u{600},b", "FILE:/a\u{600},/here/b"),
        ]
    )
    func `relative paths in an identity become absolute`(identity: String, expected: String) {
        let here = FileManager.default.currentDirectoryPath
        #expect(CertificateIdentity.absolute(identity) == expected.replacing("/here", with: here))
    }
}
