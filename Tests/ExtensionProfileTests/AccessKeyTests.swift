import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The profile keys for sign-in rules, and for the programs and peers that may get tickets from the agent.
@Suite struct AccessKeyTests {
    private static let payload = """
        ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
        Type: Credential
        Realm: EXAMPLE.TEST
        Hosts: [example.test, .example.test]

        """

    private func configuration(_ lines: String) throws -> ExtensionConfiguration {
        try #require(Profile(data: Data((Self.payload + lines).utf8), source: "a.yaml").configurations.first)
    }

    private func report(_ lines: String) throws -> ProfileReport {
        try ProfileReport.check(data: Data((Self.payload + lines).utf8), source: "a.yaml")
    }

    @Test func `DeniedBundleIdentifiers denies Linux programs and ignores a Mac's`() throws {
        let denied = try configuration("DeniedBundleIdentifiers: [com.apple.Safari, /usr/bin/curl, 'unit:a.service', /opt/app/]")
            .deniedCallers
        #expect(denied == [.executable("/usr/bin/curl"), .unit("a.service"), .folder("/opt/app/")])
        for unit in ["unit:a", "unit:*.service", "Unit:a.service"] {
            #expect(throws: ProfileError.self, "\(unit)") { try configuration("DeniedBundleIdentifiers: ['\(unit)']") }
        }
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
            "CertificateIdentity: 'PKCS11:'\nSignInOnCardInsertion: true\nArmorCache: 'KCM:'\nExtensionData: {\(keys.joined(separator: ", "))}"
        )
        #expect(
            rules.signIn
                == SignInRules(
                    allowsPassword: false,
                    allowsCertificate: false,
                    prefersCertificate: true,
                    certificateIdentity: "PKCS11:",
                    signsInOnCardInsertion: true,
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

    @Test(
        arguments: [
            ("lenient", "[com.apple.Safari]", nil), ("strict", "[com.apple.Safari]", []), ("strict", "[]", []),
            ("strict", "[com.apple.Safari, /usr/bin/curl]", [.executable("/usr/bin/curl")]),
        ] as [(String, String, [CredentialCaller]?)]
    )
    func `CredentialBundleIdACLMode decides whether a list for Macs permits every program or none`(
        _ mode: String,
        _ list: String,
        _ expected: [CredentialCaller]?
    ) throws {
        let key = "CredentialBundleIdACLMode: \(mode)\n"
        #expect(try configuration("\(key)ExtensionData: {credentialBundleIdACL: \(list)}").credentialCallers == expected)
        #expect(try configuration(key).credentialCallers == nil)
        let data = "ExtensionData: {includeKerberosAppsInBundleIdACL: true, credentialBundleIdACL: \(list)}"
        #expect(try configuration("\(key)\(data)").credentialCallers == expected.map { $0 + CredentialCaller.kerberosTools })
    }

    private static let every = "so every program of the user may use the tickets."

    @Test(
        arguments: [
            ("", "[com.apple.Safari]", "notApplicable", "0 of 1 entry applies on Linux, \(every) List programs such as /usr/bin/curl"),
            ("", "[com.apple.Safari, com.a.b]", "notApplicable", "0 of 2 entries apply on Linux, \(every)"),
            ("", "[]", "notApplicable", "The list is empty, \(every)"),
            ("CredentialBundleIdACLMode: strict\n", "[com.apple.Safari]", "used", "so no program except ksso may use the agent's tickets."),
            (
                "", "[com.apple.Safari, /usr/bin/curl]", "used",
                "1 of 2 entries applies on Linux, so the list permits only what that entry names."
            ),
            ("", "[/usr/bin/curl, /opt/app/]", "used", nil),
        ] as [(String, String, String, String?)]
    )
    func `the check of a profile says how many entries of credentialBundleIdACL apply`(
        _ key: String,
        _ list: String,
        _ verdict: String,
        _ sentence: String?
    ) throws {
        let report = try report("\(key)ExtensionData: {credentialBundleIdACL: \(list)}")
        let path = "ExtensionData.credentialBundleIdACL"
        #expect(report.rows.filter { $0.path.description == path }.map(\.verdict.name) == [verdict])
        let remarks = report.advice.filter { $0.path.description == path }
        #expect(remarks.count == (sentence == nil ? 0 : 1) && remarks.allSatisfy { $0.sentence.contains(sentence ?? "") }, "\(remarks)")
        // The owner of a Mac's list should know that it does not protect the tickets here.
        #expect(report.hasWarnings == (verdict == "notApplicable") && !report.hasErrors)
    }

    /// Such entries would match no program, so that a list of denied programs would deny nothing.
    @Test(
        arguments: [
            "/usr/bin/*", "/usr/bin/pytho?", "/usr/bin/[a-z]", "/usr/bin/../sbin/", "/opt/./app", "/usr//bin/curl", "usr/bin/curl",
            "./curl",
            "*",
        ]
    )
    func `an entry that matches no program is refused`(entry: String) throws {
        for key in ["DeniedBundleIdentifiers: ['\(entry)']", "ExtensionData: {credentialBundleIdACL: ['\(entry)']}"] {
            let error = try #require(throws: ProfileError.self) { try configuration(key) }
            #expect(error.code == .badValue && "\(error)".contains("expected the path of a program"), "\(error)")
        }
    }

    @Test func `the check of a profile reports directories without a slash and scripts`() throws {
        let folder = try TemporaryFolder()
        let script = try folder.write("#!/bin/sh\n", to: "script", mode: 0o755)
        let program = try folder.write("program", to: "program", mode: 0o755)
        let list = "[\(folder.path), \(folder.path)/, \(script), \(program), \(program)/, \(folder.path)/missing]"
        for key in ["DeniedBundleIdentifiers: \(list)", "ExtensionData: {credentialBundleIdACL: \(list)}"] {
            let report = try report(key)
            #expect(
                report.advice.filter { $0.severity == .warning }.map(\.sentence) == [
                    "\(folder.path) is a directory. To list the programs in it, write a final slash: \(folder.path)/",
                    "\(script) is a script, and its process runs the interpreter. List its systemd unit, such as unit:backup.service, or "
                        + "the interpreter with all its scripts.",
                    "\(program)/ is a file. To list it, omit the final slash.",
                ],
                "\(report.advice)"
            )
        }
    }

    @Test func `the check of a profile reports a list of denied programs that denies none here`() throws {
        let report = try report("DeniedBundleIdentifiers: [com.apple.Safari]")
        #expect(report.rows.first { $0.key == "DeniedBundleIdentifiers" }?.verdict.name == "notApplicable")
        #expect(report.advice.map(\.sentence).contains { $0.contains("0 of 1 entry applies on Linux, so the list denies no program.") })
        #expect(!report.hasWarnings)
    }

    @Test func `the check of a profile reports CredentialBundleIdACLMode without a list`() throws {
        let report = try report("CredentialBundleIdACLMode: strict")
        #expect(report.advice.contains { $0.path.description == "CredentialBundleIdACLMode" && $0.severity == .warning })
        #expect(throws: ProfileError.self) { try configuration("CredentialBundleIdACLMode: nobody") }
    }
}
