import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The profile keys for sign-in rules, and for the programs and peers that may get tickets from the agent.
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

    @Test func `DeniedBundleIdentifiers denies Linux programs and ignores a Mac's`() throws {
        let denied = try configuration("DeniedBundleIdentifiers: [com.apple.Safari, /usr/bin/curl, 'unit:a.service', /opt/app/]")
            .deniedCallers
        #expect(denied == [.executable("/usr/bin/curl"), .unit("a.service"), .folder("/opt/app/")])
        #expect(throws: ProfileError.self) { try configuration("DeniedBundleIdentifiers: ['unit:a']") }
        #expect(try configuration("").deniedCallers.isEmpty)
    }

    @Test func `the keys for sign-in, credential use and monitoring are read`() throws {
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
    func `a CertificateIdentity that libkrb5 cannot use is refused`(_ text: String) {
        let error = #expect(throws: ProfileError.self) { try configuration("CertificateIdentity: '\(text)'") }
        #expect(error?.code == .badValue)
    }

    @Test(arguments: ["/run/ticket", "FILE:ticket", "MEMORY:x", ""])
    func `an ArmorCache that other processes cannot find is refused`(_ text: String) {
        let error = #expect(throws: ProfileError.self) { try configuration("ArmorCache: '\(text)'") }
        #expect(error?.code == .badValue)
    }

    @Test func `AllowedPeers lists users and groups by number, each with hosts`() throws {
        let peers = try configuration("AllowedPeers: {gid:0: [a.example.test], 'uid:33': [.example.test]}").allowedPeers
        #expect(peers.map(\.peer) == [.group(0), .user(33)])
        #expect(peers.map { $0.hosts.map(\.name) } == [["a.example.test"], [".example.test"]])
        #expect(try configuration("").allowedPeers.isEmpty)
    }

    @Test(arguments: ["uid:-1", "uid:033", "uid:", "uid", "33", "user:33", "uid:33:1", "uid:4294967296", "UID:33", "uid: 33", ""])
    func `a text that is neither uid:NUMBER nor gid:NUMBER is not a peer`(_ text: String) { #expect(AllowedPeer.Peer(text) == nil) }

    @Test(
        arguments: [
            ("[com.apple.Safari]", nil), ("[]", nil),
            ("[com.apple.Safari, /usr/bin/curl]", [.executable("/usr/bin/curl")]),
            ("[/opt/app/, 'unit:backup.service']", [.folder("/opt/app/"), .unit("backup.service")]),
        ] as [(String, [CredentialCaller]?)]
    )
    func `credentialBundleIdACL restricts callers if it names a Linux program`(_ list: String, _ expected: [CredentialCaller]?) throws {
        #expect(try configuration("ExtensionData: {credentialBundleIdACL: \(list)}").credentialCallers == expected)
        let withTools = try configuration("ExtensionData: {includeKerberosAppsInBundleIdACL: true, credentialBundleIdACL: \(list)}")
        #expect(withTools.credentialCallers == expected.map { $0 + CredentialCaller.kerberosTools })
    }
}
