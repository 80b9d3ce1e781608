import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// Which files are read as profiles, in which order, and which are not trusted.
@Suite struct ProfileSearchTests {
    private let system: TemporaryFolder
    private let user: TemporaryFolder
    /// The uid of the tests, used both as root's and as the user's.
    private let me = ProfileFile.currentUser

    init() throws {
        system = try TemporaryFolder()
        user = try TemporaryFolder()
    }

    private func search(environment: [String: String] = [:]) -> ProfileSearch {
        ProfileSearch(environment: environment, systemDirectory: system.path, userDirectory: user.path, systemOwner: me, user: me)
    }

    @Test func `system-wide profiles precede the user's, each directory in order of file names`() throws {
        try system.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "20.yaml")
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "10.yml")
        try user.write(profileText(realm: "C.TEST", hosts: "c.test"), to: "00.yaml")
        try Fixture.data("corporate.mobileconfig").write(to: URL(filePath: user.path + "/corporate.mobileconfig"))
        try user.write("not a profile", to: "notes.txt")
        try user.write("not a profile", to: ".hidden.yaml")
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["A.TEST", "B.TEST", "C.TEST", "EXAMPLE.TEST"])
        #expect(result.configurations.first?.source == "\(system.path)/10.yml")
        #expect(result.warnings.isEmpty, "\(result.warnings)")
    }

    @Test func `missing profile directories are not an error`() throws {
        let search = ProfileSearch(
            environment: ["HOME": "\(user.path)/none"],
            systemDirectory: "\(system.path)/none",
            systemOwner: me,
            user: me
        )
        #expect(try search.run() == ProfileSearchResult())
    }

    @Test func `a file that repeats a host of an earlier one is skipped with a warning`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: "www.example.test, a.test"), to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test, WWW.example.test."), to: "b.yaml")
        try user.write(profileText(realm: "C.TEST", hosts: "b.test"), to: "c.yaml")
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["A.TEST", "C.TEST"], "a skipped file owns no host")
        let warning = try #require(result.warnings.first)
        #expect(result.warnings.count == 1)
        #expect(warning.error?.code == .repeatedHost)
        #expect(warning.message.contains("\(system.path)/a.yaml"))
        #expect(warning.message.hasPrefix("\(user.path)/b.yaml: Hosts[1]: The host www.example.test is also in"))
    }

    @Test func `a user's file does not change the rules of a host that a system-wide one covers`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: ".corp.test"), to: "a.yaml")
        try user.write(profileText(realm: "A.TEST", hosts: "b.test, intranet.corp.test"), to: "b.yaml")
        try user.write(profileText(realm: "C.TEST", hosts: ".deep.corp.test"), to: "c.yaml")
        try user.write(profileText(realm: "D.TEST", hosts: "corp.test, .test"), to: "d.yaml")
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["A.TEST", "D.TEST"], "a rule that is more general adds hosts")
        #expect(result.warnings.map { $0.error?.code } == [.repeatedHost, .repeatedHost])
        let reason = "The host intranet.corp.test is covered by .corp.test in \(system.path)/a.yaml, which applies to all users."
        #expect(result.warnings.first?.message.hasPrefix("\(user.path)/b.yaml: Hosts[1]: \(reason)") == true)
    }

    /// Also while the user's file is active, as in an agent.
    @Test func `a host that becomes system-wide takes it from the user's active file`() throws {
        try user.write(profileText(realm: "B.TEST", hosts: "www.corp.test"), to: "b.yaml")
        let active = try search().run().profiles
        #expect(active.count == 1)
        for hosts in ["www.corp.test", ".corp.test"] {
            try system.write(profileText(realm: "A.TEST", hosts: hosts), to: "a.yaml")
            let result = search().runAgain(keeping: active)
            #expect(result.configurations.map(\.realm) == ["A.TEST"], "\(result.warnings)")
        }
    }

    @Test func `a user who adds a host of the machine's to an active file keeps the file's former hosts`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: ".corp.test"), to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml")
        let active = try search().run().profiles
        try user.write(profileText(realm: "B.TEST", hosts: "b.test, www.corp.test"), to: "b.yaml")
        let result = search().runAgain(keeping: active)
        #expect(result.configurations.map { $0.hosts.map(\.description) } == [[".corp.test"], ["b.test"]])
        #expect(result.warnings.map { $0.error?.code } == [.repeatedHost])
    }

    @Test func `a user's file does not change the rules of a proxy that a system-wide one covers`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test") + "\nProxyHosts: [.corp.test]\n", to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test") + "\nProxyHosts: [proxy.corp.test]\n", to: "b.yaml")
        try user.write(profileText(realm: "C.TEST", hosts: "c.test") + "\nProxyHosts: [proxy.test]\n", to: "c.yaml")
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["A.TEST", "C.TEST"])
        #expect(result.warnings.map { $0.error?.code } == [.repeatedHost])
    }

    @Test func `an invalid file is skipped and the others are used`() throws {
        try system.write("Realm: [", to: "a.yaml")
        try system.write("", to: "b.mobileconfig")
        try system.write(profileText(realm: "C.TEST", hosts: "c.test"), to: "c.yaml")
        _ = try system.folder("d.yaml")
        try system.write(String(repeating: "#", count: (1 << 20) + 1), to: "e.yaml")
        try system.write(profileText(realm: "F.TEST", hosts: "\"*.f.test\""), to: "f.yaml")
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["C.TEST"])
        #expect(result.warnings.map { $0.error?.code } == [.malformed, .empty, .unreadable, .tooLarge, .badValue])
        #expect(result.warnings.allSatisfy { $0.message.hasPrefix($0.source) && $0.code == .rejected })
    }

    @Test(arguments: [0o664, 0o646, 0o666])
    func `a profile that other users can write is not read`(_ mode: Int) throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml", mode: mode)
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml", mode: mode)
        let result = try search().run()
        #expect(result.profiles.isEmpty)
        #expect(result.warnings.map { $0.error?.code } == [.untrusted, .untrusted])
        #expect(result.warnings.first?.message.contains("chmod go-w \(system.path)/a.yaml") == true)
        #expect(result.warnings.first?.message.contains("mode \(String(mode, radix: 8))") == true)
    }

    @Test(arguments: [0o775, 0o757, 0o777])
    func `a profile directory that other users can write is not read`(_ mode: Int) throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml")
        try system.setMode(mode)
        let result = try search().run()
        #expect(result.configurations.map(\.realm) == ["B.TEST"])
        #expect(result.warnings.map(\.source) == [system.path])
        #expect(result.warnings.first?.error?.code == .untrusted)
    }

    @Test func `a directory of an unexpected owner is not trusted`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml")
        var search = search()
        search.systemOwner = me + 1
        search.user = me + 2
        let result = try search.run()
        #expect(result.profiles.isEmpty)
        #expect(result.warnings.map(\.source) == [system.path, user.path])
        #expect(result.warnings.last?.message.contains("owned by uid \(me), expected uid \(me + 1) or uid \(me + 2)") == true)
    }

    @Test func `root may own the user's profiles, but the user may not own system-wide ones`() throws {
        try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml")
        var search = search()
        search.user = me + 1
        #expect(try search.run().configurations.map(\.realm) == ["B.TEST"])
        search.systemOwner = me + 1
        search.user = me
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml")
        #expect(try search.run().configurations.map(\.realm) == ["B.TEST"])
    }

    @Test func `a symbolic link is followed only in the user's directory`() throws {
        let elsewhere = try TemporaryFolder()
        let target = try elsewhere.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "real.yaml")
        for folder in [system, user] {
            try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/link.yaml", withDestinationPath: target)
        }
        let result = try search().run()
        #expect(result.configurations.map(\.source) == ["\(user.path)/link.yaml"])
        #expect(result.warnings.map(\.source) == ["\(system.path)/link.yaml"])
        #expect(result.warnings.first?.message.contains("symbolic link") == true)
    }

    @Test func `a symbolic link to a file that other users can write is not followed`() throws {
        let elsewhere = try TemporaryFolder()
        let target = try elsewhere.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "real.yaml", mode: 0o666)
        try FileManager.default.createSymbolicLink(atPath: "\(user.path)/link.yaml", withDestinationPath: target)
        let result = try search().run()
        #expect(result.profiles.isEmpty)
        #expect(result.warnings.map { $0.error?.code } == [.untrusted])
    }

    @Test func `an explicitly named file is the only profile, whatever its mode`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test"), to: "a.yaml")
        let named = try user.write(profileText(realm: "B.TEST", hosts: "b.test"), to: "b.yaml", mode: 0o666)
        var search = search()
        search.explicitPaths = [named]
        #expect(try search.run().configurations.map(\.realm) == ["B.TEST"])
    }

    @Test func `KSSO_PROFILE lists files, and arguments override it`() throws {
        let one = try user.write(profileText(realm: "ONE.TEST", hosts: "one.test"), to: "one.yaml")
        let two = try user.write(profileText(realm: "TWO.TEST", hosts: "two.test"), to: "two.yaml")
        let environment = ["KSSO_PROFILE": "\(two)::\(one)"]
        #expect(try search(environment: environment).run().configurations.map(\.realm) == ["TWO.TEST", "ONE.TEST"])
        #expect(ProfileSearch(explicitPaths: [one], environment: environment).explicitPaths == [one])
        #expect(ProfileSearch(environment: ["KSSO_PROFILE": ""]).explicitPaths.isEmpty)
    }

    @Test(arguments: [
        ("none.yaml", ProfileError.Code.unreadable), ("broken.yaml", .malformed), ("folder", .unreadable), ("huge.yaml", .tooLarge),
    ])
    func `an explicitly named file that cannot be used is an error`(_ name: String, _ code: ProfileError.Code) throws {
        try user.write("Realm: [", to: "broken.yaml")
        try user.write(String(repeating: "#", count: (1 << 20) + 1), to: "huge.yaml")
        _ = try user.folder("folder")
        var search = search()
        search.explicitPaths = ["\(user.path)/\(name)"]
        let error = try #require(throws: ProfileError.self) { try search.run() }
        #expect(error.code == code)
        #expect(error.message.hasPrefix("\(user.path)/\(name): "))
    }

    @Test func `a device is not read as a profile`() throws {
        let error = try #require(throws: ProfileError.self) { try Profile(contentsOf: "/dev/zero") }
        #expect(error.message == "/dev/zero: It is not a regular file; use a regular file.")
    }

    @Test func `a host in two explicitly named files is an error`() throws {
        let one = try user.write(profileText(realm: "ONE.TEST", hosts: "www.test"), to: "one.yaml")
        let two = try user.write(profileText(realm: "TWO.TEST", hosts: "www.test"), to: "two.yaml")
        var search = search()
        search.explicitPaths = [one, two]
        let error = try #require(throws: ProfileError.self) { try search.run() }
        #expect(error.code == .repeatedHost)
        #expect(error.message.contains(one) && error.message.contains(two))
    }

    @Test(
        arguments: [
            (["XDG_CONFIG_HOME": "/settings", "HOME": "/home/alice"], "/settings/ksso"),
            (["XDG_CONFIG_HOME": "relative", "HOME": "/home/alice"], "/home/alice/.config/ksso"),
            (["XDG_CONFIG_HOME": "", "HOME": "/home/alice"], "/home/alice/.config/ksso"),
            (["HOME": "/home/alice"], "/home/alice/.config/ksso"),
            ([:], nil),
        ] as [([String: String], String?)]
    )
    func `the user's directory follows XDG`(_ environment: [String: String], _ expected: String?) {
        #expect(ProfileSearch(environment: environment).userDirectory == expected)
        #expect(ProfileSearch(environment: environment).systemDirectory == "/etc/ksso")
        #expect(ProfileSearch(environment: environment).systemOwner == 0)
    }

    @Test func `a misspelled key and a second default realm are only warnings`() throws {
        try system.write(profileText(realm: "A.TEST", hosts: "a.test", isDefaultRealm: true) + "\nprincipalName: alice", to: "a.yaml")
        try user.write(profileText(realm: "B.TEST", hosts: "b.test", isDefaultRealm: true), to: "b.yaml")
        let result = try search().run()
        #expect(result.configurations.count == 2)
        #expect(result.warnings.map(\.code) == [.misspelledKey, .severalDefaultRealms])
        #expect(result.warnings.first?.message.contains("ExtensionData.principalName") == true)
    }
}
