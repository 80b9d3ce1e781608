import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Where profiles are found, which one takes precedence, and the warnings about those that are ignored.
@Suite(.testRealm())
struct ProfileSearchTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    /// The active realms in order, and the text on standard error.
    private func show(_ arguments: [String] = [], environment: [String: String] = [:]) async throws -> (realms: [String], errors: String) {
        let result = try await station.run(["ksso", "profile", "show"] + arguments, environment: environment)
        #expect(result.exitStatus == 0, "\(result)")
        let lines = result.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
        return (lines.map { String($0.prefix { $0 != " " && $0 != "," }) }, result.errors)
    }

    @Test func `every profile in the user's folder is active, in the order of the file names`() async throws {
        try station.install(profile(hosts: ["b.test"], realm: "B.TEST"), as: "b.yml")
        try station.install(profile(hosts: ["a.test"], realm: "A.TEST"), as: "a.yaml")
        try station.install(profile(hosts: ["c.test"], realm: "C.TEST"), as: "c.txt")
        try FileManager.default.copyItem(
            atPath: repositoryFile("krb5/example.mobileconfig"),
            toPath: "\(station.directory)/config/ksso/c.mobileconfig"
        )
        #expect(try await show() == (["A.TEST", "B.TEST", "EXAMPLE.TEST"], ""))
    }

    @Test func `without XDG_CONFIG_HOME profiles are in .config of the home directory`() async throws {
        try FileManager.default.createDirectory(atPath: "\(station.directory)/.config/ksso", withIntermediateDirectories: true)
        try station.write(profile(realm: "HOME.TEST"), to: ".config/ksso/a.yaml")
        #expect(try await show(environment: ["XDG_CONFIG_HOME": ""]).realms == ["HOME.TEST"])
        #expect(try await show().realms == [])
    }

    @Test func `--profile replaces KSSO_PROFILE, which replaces the installed profiles`() async throws {
        try station.install(profile(realm: "INSTALLED.TEST"))
        let one = try station.write(profile(hosts: ["one.test"], realm: "ONE.TEST"), to: "one.yaml")
        let two = try station.write(profile(hosts: ["two.test"], realm: "TWO.TEST"), to: "two.yaml")
        #expect(try await show(environment: ["KSSO_PROFILE": "\(one):\(two)"]) == (["ONE.TEST", "TWO.TEST"], ""))
        #expect(try await show(["--profile", two], environment: ["KSSO_PROFILE": one]).realms == ["TWO.TEST"])
        #expect(try await show(["--profile", two, "--profile", one]).realms == ["TWO.TEST", "ONE.TEST"])
    }

    @Test func `an unusable file in --profile or KSSO_PROFILE is an error`() async throws {
        let broken = try station.write("garbage", to: "broken.mobileconfig")
        for arguments in [["--profile", broken], ["--profile", "/nonexistent"]] {
            let result = try await station.run(["ksso", "explain", "https://localhost/"] + arguments)
            #expect(result.exitStatus == 1)
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("ksso: \(arguments[1]): "), "\(result.errors)")
        }
        #expect(try await station.ksso("status", environment: ["KSSO_PROFILE": broken]).exitStatus == 1)
    }

    @Test(arguments: [
        "garbage: [", "Realm: EXAMPLE.TEST", profile().replacing("EXAMPLE.TEST", with: "5"),
        profile().replacing("Hosts: [localhost]", with: "Hosts: localhost"), "",
    ])
    func `an invalid profile is ignored with a warning and the others stay active`(text: String) async throws {
        try station.install(profile(realm: "GOOD.TEST"), as: "good.yaml")
        let path = try station.install(text, as: "broken.yaml")
        let (realms, errors) = try await show()
        #expect(realms == ["GOOD.TEST"])
        #expect(errors.hasPrefix("ksso: warning: \(path): "), "\(errors)")
        #expect(errors.split(separator: "\n").count == 1)
    }

    @Test func `a profile that repeats a host of an earlier one is ignored with a warning`() async throws {
        let first = try station.install(profile(hosts: ["a.test", "same.test"], realm: "A.TEST"), as: "a.yaml")
        let second = try station.install(profile(hosts: ["SAME.test"], realm: "B.TEST"), as: "b.yaml")
        let (realms, errors) = try await show()
        #expect(realms == ["A.TEST"])
        let line =
            "ksso: warning: \(second): Hosts[0]: The host same.test is also in \(first), which was read first. "
            + "A host belongs to one profile; this one is ignored completely.\n"
        #expect(errors == line)
        let named = try await station.ksso("profile", "show", environment: ["KSSO_PROFILE": "\(first):\(second)"])
        #expect(named.exitStatus == 1)
        #expect(named.errors.contains(first) && named.errors.contains(second), "\(named.errors)")
    }

    @Test func `a profile that other users can write is ignored with a warning`() async throws {
        let path = try station.install(profile())
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        let line =
            "ksso: warning: \(path): Users other than its owner can write it (mode 666), so it is not read. "
            + "Fix it with: chmod go-w \(path)\n"
        let (realms, errors) = try await show()
        #expect(realms == [])
        #expect(errors.hasPrefix(line), "\(errors)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can change the owner of a file"))
    func `a profile that another user owns is ignored with a warning`() async throws {
        let path = try station.install(profile())
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        let (realms, errors) = try await show()
        #expect(realms == [])
        #expect(errors.hasPrefix("ksso: warning: \(path): It is owned by uid 12345, expected root, so it is not read."), "\(errors)")
        let result = try await station.ksso("explain", "https://localhost/")
        #expect(result.exitStatus == 3)
    }

    @Test func `a warning about a profile goes to standard error and leaves the JSON intact`() async throws {
        try station.install("garbage: [", as: "broken.yaml")
        let result = try await station.ksso("status", "--json")
        #expect(try StatusDocument(json: result.output).sessions == [])
        #expect(result.errors.hasPrefix("ksso: warning: "))
    }
}
