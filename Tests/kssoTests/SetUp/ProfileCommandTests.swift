import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The output of `ksso profile check` and `ksso profile show`.
@Suite(.testRealm())
struct ProfileCommandTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    private func check(_ text: String, as name: String = "test.yaml") async throws -> (result: CommandResult, path: String) {
        let path = try station.write(text, to: name)
        return (try await station.ksso("profile", "check", path), path)
    }

    @Test func `ksso profile check lists each key of a valid profile as used`() async throws {
        let result = try await station.ksso("profile", "check", repositoryFile("krb5/example.mobileconfig"))
        #expect(result.exitStatus == 0)
        #expect(result.errors == "")
        for key in ["Realm", "Hosts", "PlainHTTPHosts", "ExtensionData.principalName", "ExtensionData.isDefaultRealm"] {
            #expect(result.output.contains(try Regex("(?m)^  PayloadContent\\[0\\]\\.\(key) +used$")), "\(key): \(result.output)")
        }
        #expect(!result.output.contains("!"))
    }

    @Test func `ksso profile check marks a misspelled key and suggests the right one`() async throws {
        let (result, path) = try await check(profile().replacing("credentialUseMode: always", with: "principalNme: alice"))
        #expect(result.exitStatus == 1)
        #expect(result.output.contains(/(?m)^! ExtensionData.principalNme .*principalName/), "\(result.output)")
        #expect(result.errors == "ksso: \(path): the profile has errors. Fix the lines marked with !.\n")
    }

    @Test(arguments: [
        ("Hosts: [localhost]", "Hosts: localhost"), ("Realm: EXAMPLE.TEST", "Realm: [a]"), ("Hosts: [localhost]", "Hosts: ['*.x']"),
    ])
    func `ksso profile check marks a key with an invalid value`(right: String, wrong: String) async throws {
        let (result, path) = try await check(profile().replacing(right, with: wrong))
        #expect(result.exitStatus == 1)
        let key = wrong.prefix { $0 != ":" }
        #expect(result.output.split(separator: "\n").contains { $0.hasPrefix("! \(key)") }, "\(result.output)")
        #expect(result.errors == "ksso: \(path): the profile has errors. Fix the lines marked with !.\n")
    }

    @Test(arguments: ["this is no property list", "<plist", "", "bplist00garbage"])
    func `ksso profile check reports a file that is not a property list in one line`(text: String) async throws {
        let (result, path) = try await check(text, as: "test.mobileconfig")
        #expect(result.exitStatus == 1)
        #expect(result.errors.contains(path), "\(result)")
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    /// The error message of other commands must agree with `ksso profile check`.
    @Test(arguments: [
        "Host: [a.test]\nType: Credential",
        "Realm: EXAMPLE.TEST\nHosts: [a.test, a.test]\nExtensionData: {principalNme: a, replicationTime: soon}",
        "PayloadContent: [{PayloadType: com.apple.wifi.managed}]",
        "PayloadContent: [{PayloadType: com.apple.wifi.managed}]\nPayloadDisplayNam: a",
    ])
    func `another command counts the same errors in a profile as ksso profile check`(text: String) async throws {
        let (result, path) = try await check(text)
        let shown = result.output.split(separator: "\n").filter { $0.hasPrefix("!") }.count
        let refusal = try await station.ksso("explain", "http://localhost/", "--profile", path).errors
        let counted = refusal.firstMatch(of: /The file has (\w+) more errors?;/).map { $0.1 == "one" ? 1 : Int($0.1) ?? 0 }
        #expect(shown == 1 + (counted ?? 0), "\(result) \(refusal)")
    }

    @Test func `ksso profile check and show print the signer of a profile`() async throws {
        let signed = "Tests/ExtensionProfileTests/Fixtures/signed.mobileconfig"
        let result = try await station.ksso("profile", "check", repositoryFile(signed))
        #expect(result.exitStatus == 0, "\(result)")
        #expect(
            result.output.contains(/(?m)^  signed by CN=Example, issued by CN=Example, until .* left\): not trusted: self-signed/),
            "\(result)"
        )
        let shown = try await station.ksso("profile", "show", "--profile", repositoryFile(signed))
        #expect(shown.output.contains(/signed by CN=Example.* left\): not trusted: self-signed/) && shown.errors.isEmpty, "\(shown)")
        // The user cannot change it, so that only ksso setup and the doctor warn of it.
        let status = try await station.ksso("status", "--profile", repositoryFile(signed))
        #expect(!status.errors.contains("not trusted"), "\(status)")
        let diagnosis = try await station.ksso("doctor", "--profile", repositoryFile(signed))
        #expect(diagnosis.output.contains(/! profile: .* not trusted: self-signed/), "\(diagnosis)")
    }

    @Test(.enabled(if: MachineProfiles.arePossible, "an overlay over /etc requires root, and not every machine allows it"))
    func `a machine that requires signed profiles ignores an unsigned one`() async throws {
        let machine = "\(station.directory)/machine"
        try FileManager.default.createDirectory(atPath: "\(machine)/ksso", withIntermediateDirectories: true)
        let identity = try await station.realm.makeServerIdentity(host: "localhost")
        try station.write("RequireSignedProfiles: true\nProfileAnchors: [\(identity.certificatePath)]\n", to: "machine/ksso/policy.yaml")
        let path = try station.install(profile())
        func ksso(_ words: String...) async throws -> CommandResult {
            try await station.run(MachineProfiles.command(over: machine, ["ksso"] + words))
        }
        let show = try await ksso("profile", "show")
        #expect(show.errors.contains("\(path): The profile is not signed") && !show.output.contains("EXAMPLE.TEST"), "\(show)")
        let named = try await ksso("explain", "https://localhost/", "--profile", path)
        #expect(named.exitStatus == 1 && named.errors.contains("The profile is not signed"), "\(named)")
        let check = try await ksso("profile", "check", path)
        #expect(check.exitStatus == 1 && check.output.contains("! The profile is not signed"), "\(check)")
        try station.write("nonsense", to: "machine/ksso/policy.yaml")
        #expect(try await ksso("profile", "show").errors.contains("until it is fixed, no profile is used"))
    }

    @Test func `ksso profile check reports a missing file`() async throws {
        let result = try await station.ksso("profile", "check", "/nonexistent")
        #expect(result == .failure(1, "/nonexistent: cannot be opened: No such file or directory."))
        #expect(try await station.ksso("profile", "check").exitStatus == 64)
    }

    @Test func `ksso profile show prints the active profile`() async throws {
        let nothing = "no profile is installed, so no host is answered. Install one with: ksso setup FILE\n"
        #expect(try await station.ksso("profile", "show") == CommandResult(exitStatus: 0, output: "", errors: nothing))
        let path = try station.install(
            profile(
                hosts: ["localhost", ".corp.test"],
                data: [
                    "principalName: alice", "isDefaultRealm: true", "preferredKDCs: [kdc.corp.test]",
                    "domainRealmMapping: { OTHER.TEST: [.other.test] }",
                ]
            )
        )
        let text = """
            EXAMPLE.TEST (default realm), from \(path)
                hosts: localhost .corp.test
                also over plain http: localhost .corp.test
                principal: alice
                KDCs first: kdc.corp.test
                OTHER.TEST serves: .other.test

            """
        #expect(try await station.ksso("profile", "show") == .done(text))
    }

    @Test func `ksso profile show prints the settings of single hosts`() async throws {
        let settings = """
            PreemptiveHosts: [api.corp.test]
            DelegationHosts: [files.corp.test, .files.corp.test]
            UnconditionalDelegationHosts: [old.corp.test]
            OptionalMutualAuthenticationHosts: [box.corp.test]
            NoMutualAuthenticationHosts: [printer.corp.test]
            NoChannelBindingHosts: [.balanced.corp.test]
            ServicePrincipals:
              https://b.corp.test:8443: HTTP/real.corp.test@OTHER.TEST
              HTTPS://A.corp.test/: HTTP/real.corp.test

            """
        let path = try station.install(settings + profile(hosts: [".corp.test"]))
        let text = """
            EXAMPLE.TEST, from \(path)
                hosts: .corp.test
                also over plain http: .corp.test
                sent a ticket preemptively after their first challenge: api.corp.test
                delegated the user's ticket if the KDC approves: files.corp.test .files.corp.test
                delegated the user's ticket regardless of the KDC: old.corp.test
                mutual authentication is optional: box.corp.test
                mutual authentication is not requested: printer.corp.test
                sent a ticket without channel bindings: .balanced.corp.test
                service principal at https://a.corp.test: HTTP/real.corp.test
                service principal at https://b.corp.test:8443: HTTP/real.corp.test@OTHER.TEST

            """
        #expect(try await station.ksso("profile", "show") == .done(text))
        let check = try await station.ksso("profile", "check", path)
        #expect(check.exitStatus == 0, "\(check)")
        for key in ["PreemptiveHosts", "UnconditionalDelegationHosts", "NoChannelBindingHosts", "ServicePrincipals"] {
            #expect(check.output.contains(try Regex("(?m)^  \(key) +used$")), "\(key): \(check.output)")
        }
    }

    @Test(arguments: [
        ("ServicePrincipals: { 'https://localhost': 'HTTP@localhost' }", "! ServicePrincipals.https://localhost "),
        ("ServicePrincipals: { localhost: HTTP/localhost }", "! ServicePrincipals.localhost "),
        ("DelegationHosts: ['*']", "! DelegationHosts[0] "),
        ("NoMutualAuthenticationHost: [localhost]", "! NoMutualAuthenticationHost "),
    ])
    func `ksso profile check marks an invalid host setting`(setting: String, line: String) async throws {
        let (result, path) = try await check("\(setting)\n\(profile())")
        #expect(result.exitStatus == 1)
        #expect(result.output.split(separator: "\n").contains { $0.hasPrefix(line) }, "\(result.output)")
        #expect(result.errors == "ksso: \(path): the profile has errors. Fix the lines marked with !.\n")
    }

    @Test func `ksso profile show prints the example mobileconfig profile`() async throws {
        let path = repositoryFile("krb5/example.mobileconfig")
        let text = """
            EXAMPLE.TEST (default realm), from \(path)
                hosts: localhost
                also over plain http: localhost
                service principal at http://localhost:8081: HTTP/other.localhost@OTHER.TEST
                principal: alice

            """
        #expect(try await station.ksso("profile", "show", "--profile", path) == .done(text))
    }
}
