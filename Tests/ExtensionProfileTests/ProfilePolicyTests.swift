import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The policy in `policy.yaml`, which can require signed profiles.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: OpenSSLProcess.program), "openssl is missing"))
struct ProfilePolicyTests {
    private let system: TemporaryFolder
    private let user: TemporaryFolder
    private let authority: SigningAuthority
    private let me = ProfileFile.currentUser

    init() throws {
        system = try TemporaryFolder()
        user = try TemporaryFolder()
        authority = try SigningAuthority()
        try authority.issue("Profiles")
    }

    private var search: ProfileSearch {
        ProfileSearch(environment: [:], systemDirectory: system.path, userDirectory: user.path, systemOwner: me, user: me)
    }

    private func requireSignatures() throws {
        try system.write("RequireSignedProfiles: true\nProfileAnchors: [\(authority.anchor)]\n", to: "policy.yaml")
    }

    @discardableResult
    private func sign(_ folder: TemporaryFolder, _ name: String, realm: String) throws -> String {
        let data = try authority.sign(profileText(realm: realm, hosts: "\(realm.lowercased())"), as: "Profiles")
        try data.write(to: URL(filePath: "\(folder.path)/\(name)"))
        return "\(folder.path)/\(name)"
    }

    @Test func `the policy applies to system-wide, user and named profiles, on first and later reads`() throws {
        try requireSignatures()
        try sign(system, "a.yaml", realm: "A.TEST")
        try sign(user, "b.yaml", realm: "B.TEST")
        try system.write(profileText(realm: "C.TEST", hosts: "c.test"), to: "c.yaml")
        let unsigned = try user.write(profileText(realm: "D.TEST", hosts: "d.test"), to: "d.yaml")
        for result in [try search.run(), search.runAgain()] {
            #expect(result.configurations.map(\.realm) == ["A.TEST", "B.TEST"])
            #expect(result.warnings.map { $0.error?.code } == [.unsigned, .unsigned], "\(result.warnings)")
        }
        var named = search
        named.explicitPaths = [unsigned]
        #expect(throws: ProfileError.self) { try named.run() }
        #expect(named.runAgain().profiles.isEmpty)
        named.explicitPaths = ["\(user.path)/b.yaml"]
        #expect(try named.run().configurations.map(\.realm) == ["B.TEST"])
        #expect(named.places.contains("\(system.path)/policy.yaml"))
    }

    @Test func `a loaded file needs the signature that the policy of the search requires`() async throws {
        let search = self.search
        let unsigned = try user.write(profileText(realm: "D.TEST", hosts: "d.test"), to: "d.yaml")
        let signed = try sign(user, "b.yaml", realm: "B.TEST")
        #expect(try await Profile.load(unsigned, search: search).configurations.map(\.realm) == ["D.TEST"])
        try requireSignatures()
        let refusal = await #expect(throws: ProfileError.self) { try await Profile.load(unsigned, search: search) }
        #expect(refusal?.code == .unsigned)
        #expect(try await Profile.load(signed, search: search).configurations.map(\.realm) == ["B.TEST"])
        try system.write("[", to: "policy.yaml")
        let fault = await #expect(throws: ProfileError.self) { try await Profile.load(signed, search: search) }
        #expect(fault?.code == .policyUnusable)
    }

    @Test func `loading a missing file throws the error of the initializer`() async throws {
        let search = self.search
        let path = "\(user.path)/none.yaml"
        let expected = #expect(throws: ProfileError.self) { try Profile(contentsOf: path, policy: .none) }
        let error = await #expect(throws: ProfileError.self) { try await Profile.load(path, search: search) }
        #expect(error?.code == .unreadable && error?.message == expected?.message)
    }

    @Test func `without a policy an unknown signer is only a warning`() throws {
        try sign(user, "b.yaml", realm: "B.TEST")
        let result = try search.run()
        #expect(result.configurations.map(\.realm) == ["B.TEST"])
        #expect(result.warnings.map(\.code) == [.untrustedSigner])
        try system.write("ProfileAnchors: [\(authority.anchor)]", to: "policy.yaml")
        #expect(try search.run().warnings.isEmpty)
    }

    @Test func `a policy.yaml in the user's directory is an ordinary profile`() throws {
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "policy.yaml")
        #expect(try search.run().configurations.map(\.realm) == ["B.TEST"])
        #expect(try search.policy() == .none)
    }

    @Test(arguments: [
        ("RequireSignedProfiles: yes", "expected a boolean"), ("RequireSignedProfiles: true", "requires the certificates"),
        ("ProfileAnchors: x.pem", "absolute paths"), ("RequireSignedProfile: true", "Not a key of the policy"),
        ("ProfileAnchors: [/nonexistent.pem]", "cannot be opened"), ("ProfileAnchors: [/etc/passwd]", "no certificate"), ("[", "not YAML"),
        ("- a", "one dictionary"),
    ])
    func `an invalid policy accepts no profile`(_ text: String, _ message: String) throws {
        try system.write(text, to: "policy.yaml")
        try sign(user, "b.yaml", realm: "B.TEST")
        let result = try search.run()
        #expect(result.profiles.isEmpty)
        #expect(result.warnings.map { $0.error?.code } == [.policyUnusable])
        #expect(result.warnings.first?.message.contains(message) == true, "\(result.warnings)")
        #expect(search.runAgain().profiles.isEmpty)
    }

    @Test func `a policy or anchor that other users can write accepts no profile`() throws {
        try requireSignatures()
        try sign(user, "b.yaml", realm: "B.TEST")
        #expect(try search.run().configurations.count == 1)
        for (file, mode) in [("policy.yaml", 0o666), ("", 0o777)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(system.path)/\(file)")
            #expect(try search.run().warnings.map { $0.error?.code } == [.policyUnusable])
            try FileManager.default.setAttributes([.posixPermissions: file.isEmpty ? 0o755 : 0o644], ofItemAtPath: "\(system.path)/\(file)")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: authority.anchor)
        #expect(try search.run().profiles.isEmpty)
    }

    @Test func `an empty policy requires nothing`() throws {
        try system.write("# nothing yet\n", to: "policy.yaml")
        #expect(try search.policy() == .none)
    }
}
