import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The file `principals` of the user's directory, which names the principal that signs in if the profile does not.
@Suite struct UserPrincipalsTests {
    private let system: TemporaryFolder
    private let user: TemporaryFolder
    private let me = ProfileFile.currentUser

    init() throws {
        system = try TemporaryFolder()
        user = try TemporaryFolder()
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml")
        let named = profileText(realm: "B.TEST", hosts: "b.test").replacing(
            "ExtensionData: {",
            with: "ExtensionData: {principalName: bob, "
        )
        try system.write(named, to: "b.yaml")
    }

    private func search(_ explicitPaths: [String] = []) -> ProfileSearch {
        ProfileSearch(
            explicitPaths: explicitPaths,
            environment: [:],
            systemDirectory: system.path,
            userDirectory: user.path,
            systemOwner: me,
            user: me
        )
    }

    @Test func `the user's principal is separate from the profile's principalName`() throws {
        try user.write("# mine\n\nalice@A.TEST\nalice@B.TEST\nother@A.TEST\nalice@C.TEST\n", to: "principals", mode: 0o600)
        for search in [search(), search(["\(system.path)/a.yaml", "\(system.path)/b.yaml"])] {
            for result in [try search.run(), search.runAgain()] {
                #expect(result.configurations.map(\.principalName) == [nil, "bob"])
                #expect(result.configurations.map(\.userPrincipal) == ["alice@A.TEST", "alice@B.TEST"])
                #expect(result.warnings.isEmpty, "\(result.warnings)")
            }
            #expect(search.places.contains { "\(user.path)/principals".hasPrefix($0) })
        }
        let profiles = try search().run().profiles
        #expect(profiles.map { $0.namesPrincipal(of: "A.TEST") || $0.namesPrincipal(of: "B.TEST") } == [false, true])
    }

    /// The agent compares profiles to notice a change.
    @Test func `profiles with another user's principal are not equal`() throws {
        let before = search().runAgain().profiles
        try user.write("alice@C.TEST\n", to: "principals")
        #expect(search().runAgain(keeping: before).profiles == before, "no profile has this realm")
        try user.write("alice@A.TEST\n", to: "principals")
        let after = search().runAgain(keeping: before).profiles
        #expect(after != before)
        // Contents that stay active because the file cannot be used have the principal as well.
        try system.write("Realm: [", to: "a.yaml")
        #expect(search().runAgain(keeping: after).profiles == after)
    }

    @Test(arguments: ["alice", "alice@", "@A.TEST", "alice smith@A.TEST", #"A\alice@A.TEST"#, #"alice\@A.TEST"#, "alice@A/TEST"])
    func `a file with an invalid line is ignored with a warning that names the line`(line: String) throws {
        let file = try user.write("bob@A.TEST\n\(line)\n", to: "principals")
        let result = try search().run()
        #expect(result.configurations.map(\.userPrincipal) == [nil, nil])
        #expect(result.warnings.map(\.source) == [file])
        #expect(result.warnings.first?.message.contains("Line 2 is not a principal with its realm") == true)
    }

    @Test(arguments: [0o620, 0o602])
    func `a file that other users can write is ignored with a warning`(mode: Int) throws {
        let file = try user.write("alice@A.TEST\n", to: "principals", mode: mode)
        let result = try search().run()
        #expect(result.configurations.map(\.userPrincipal) == [nil, nil])
        #expect(result.warnings.map { $0.error?.code } == [.untrusted])
        #expect(result.warnings.first?.message.contains("chmod go-w \(file)") == true)
    }

    private func file(in directory: String) throws -> UserPrincipalsFile {
        var search = search()
        search.userDirectory = directory
        return try #require(UserPrincipalsFile(of: search))
    }

    @Test func `a recorded principal replaces the one of its realm, in a file that only the user can read`() throws {
        let directory = "\(user.path)/new/ksso"
        let file = try file(in: directory)
        for principal in ["alice@A.TEST", "alice@B.TEST", "uid/admin@A.TEST"] { try file.record(principal) }
        let text = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(text.hasPrefix("# ") && text.hasSuffix("\nalice@B.TEST\nuid/admin@A.TEST\n"), "\(text)")
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["principals"])
        #expect(throws: ProfileError.self) { try file.record("alice") }
        #expect(try file.remove(["alice@A.TEST"]) == .nothing)
        #expect(try file.remove(["alice@B.TEST"]) == .entries)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8).hasSuffix("\nuid/admin@A.TEST\n"))
        #expect(try file.remove(["alice@B.TEST", "uid/admin@A.TEST"]) == .wholeFile)
    }

    @Test(arguments: [
        ("bob@B.TEST\n", 0o602, ProfileError.Code.untrusted), ("bob@B.TEST\nbob\n", 0o600, .malformed),
    ])
    func `a file that the search ignores is not changed`(text: String, mode: Int, code: ProfileError.Code) throws {
        let path = try user.write(text, to: "principals", mode: mode)
        let file = try file(in: user.path)
        let recorded = #expect(throws: ProfileError.self) { try file.record("alice@A.TEST") }
        let removed = #expect(throws: ProfileError.self) { try file.remove(["bob@B.TEST"]) }
        #expect(recorded?.code == code && removed?.code == code)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode)
    }

    @Test func `a symbolic link stays, and its target is changed`() throws {
        let target = try system.write("# mine\nbob@A.TEST\n", to: "own-principals", mode: 0o600)
        let file = try file(in: user.path)
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target)
        try file.record("alice@A.TEST")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == target)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "# mine\nalice@A.TEST\n")
        #expect(try search().run().configurations.map(\.userPrincipal) == ["alice@A.TEST", nil])
    }
}
