import Foundation
import HTTPNegotiate
import Testing

@testable import ExtensionProfile

/// Who besides the user, and which of the user's programs, gets tickets from the agent.
@Suite struct AccessKeyTests {
    private func configuration(_ lines: String) throws -> ExtensionConfiguration {
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: EXAMPLE.TEST
            Hosts: [.example.test]

            """ + lines
        return try #require(Profile(data: Data(text.utf8), source: "a.yaml").configurations.first)
    }

    @Test func `programs of Linux can be denied, and a Mac's are passed over`() throws {
        let denied = try configuration("DeniedBundleIdentifiers: [com.apple.Safari, /usr/bin/curl, 'unit:a.service', /opt/app/]")
            .deniedCallers
        #expect(denied == [.executable("/usr/bin/curl"), .unit("a.service"), .folder("/opt/app/")])
        #expect(throws: ProfileError.self) { try configuration("DeniedBundleIdentifiers: ['unit:a']") }
        #expect(try configuration("").deniedCallers.isEmpty)
    }

    @Test func `how to sign in, whose credential answers and who looks after it`() throws {
        let plain = try configuration("")
        #expect(plain.signIn == SignInRules() && plain.credentialUseMode == nil && plain.monitorsCredentials)
        let keys = [
            "allowPassword: false", "allowSmartCard: false", "startInSmartCardMode: true", "identityIssuerAutoSelectFilter: '*CA*'",
            "credentialUseMode: kerberosDefault", "monitorCredentialsCache: false",
        ]
        let rules = try configuration(
            "CertificateIdentity: 'PKCS11:'\nArmorCache: 'KCM:'\nExtensionData: {\(keys.joined(separator: ", "))}"
        )
        #expect(
            rules.signIn
                == SignInRules(
                    allowsPassword: false,
                    allowsCertificate: false,
                    prefersCertificate: true,
                    certificateIdentity: "PKCS11:",
                    issuerFilter: "*CA*",
                    armorCache: "KCM:"
                )
        )
        #expect(rules.credentialUseMode == .kerberosDefault && !rules.monitorsCredentials)
    }

    @Test(arguments: ["/etc/cert.pem", "FILE:", "file:/a", "PKCS13:x", ""])
    func `what libkrb5 knows as no certificate is refused`(_ text: String) {
        let error = #expect(throws: ProfileError.self) { try configuration("CertificateIdentity: '\(text)'") }
        #expect(error?.code == .badValue)
    }

    @Test(arguments: ["/run/ticket", "FILE:ticket", "MEMORY:x", ""])
    func `a cache that nobody else would find is refused`(_ text: String) {
        let error = #expect(throws: ProfileError.self) { try configuration("ArmorCache: '\(text)'") }
        #expect(error?.code == .badValue)
    }

    @Test func `AllowedPeers names users and groups by number, each with hosts`() throws {
        let peers = try configuration("AllowedPeers: {gid:0: [a.example.test], 'uid:33': [.example.test]}").allowedPeers
        #expect(peers.map(\.peer) == [.group(0), .user(33)])
        #expect(peers.map { $0.hosts.map(\.name) } == [["a.example.test"], [".example.test"]])
        #expect(try configuration("").allowedPeers.isEmpty)
    }

    @Test(arguments: ["uid:-1", "uid:033", "uid:", "uid", "33", "user:33", "uid:33:1", "uid:4294967296", "UID:33", "uid: 33", ""])
    func `anything else is no peer`(_ text: String) { #expect(AllowedPeer.Peer(text) == nil) }

    @Test(
        arguments: [
            ("[com.apple.Safari]", nil), ("[]", nil),
            ("[com.apple.Safari, /usr/bin/curl]", [.executable("/usr/bin/curl")]),
            ("[/opt/app/, 'unit:backup.service']", [.folder("/opt/app/"), .unit("backup.service")]),
        ] as [(String, [CredentialCaller]?)]
    )
    func `the list of programs restricts where it names one of Linux`(_ list: String, _ expected: [CredentialCaller]?) throws {
        #expect(try configuration("ExtensionData: {credentialBundleIdACL: \(list)}").credentialCallers == expected)
        let withTools = try configuration("ExtensionData: {includeKerberosAppsInBundleIdACL: true, credentialBundleIdACL: \(list)}")
        #expect(withTools.credentialCallers == expected.map { $0 + CredentialCaller.kerberosTools })
    }
}
