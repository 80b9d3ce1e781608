import ExtensionProfile
import Foundation
import SSOAgentClient
import SignOnPolicy
import Testing

@testable import SSOAgent

/// How the active profiles change when the agent reads real folders again.
@Suite struct ActiveProfilesTests {
    /// A user's folder of profiles.
    private struct Folder: ~Copyable {
        let path = "\(NSTemporaryDirectory())/ActiveProfilesTests-\(UUID().uuidString)"
        var search: ProfileSearch { ProfileSearch(environment: [:], systemDirectory: "/nonexistent", userDirectory: path) }

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, realm: String, hosts: String) throws {
            let lines = [
                "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension", "TeamIdentifier: apple", "Type: Credential",
                "Realm: \(realm)", "Hosts: [\(hosts)]",
            ]
            try text(lines.joined(separator: "\n"), to: name)
        }

        func text(_ text: String, to name: String) throws { try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8) }
        func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        func chmod(_ mode: Int) throws { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path) }
    }

    /// A folder with `a.yaml` for A.TEST and `b.yaml` for B.TEST.
    private static func folder() throws -> Folder {
        let folder = try Folder()
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test")
        try folder.write("b.yaml", realm: "B.TEST", hosts: ".b.test")
        return folder
    }

    @Test func `unchanged profiles and other files change nothing`() throws {
        let folder = try Self.folder()
        let active = ActiveProfiles(try folder.search.run())
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test")
        try folder.text("no profile", to: "notes.txt")
        #expect(active.verdict(on: folder.search.runAgain()) == .unchanged && !active.mayPass(folder.search.runAgain()))
    }

    @Test func `a profile with another host is replaced without removing its realm`() throws {
        let folder = try Self.folder()
        let active = ActiveProfiles(try folder.search.run())
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test, .c.test")
        #expect(active.verdict(on: folder.search.runAgain()) == .replace(removedRealms: []))
        #expect(!active.mayPass(folder.search.runAgain()))
    }

    /// A policy that requires signatures removes unsigned profiles. A policy that cannot be read changes nothing.
    @Test func `the system-wide policy applies to the active profiles`() throws {
        let folder = try Self.folder()
        let systemFolder = try Folder()
        try systemFolder.chmod(0o755)
        var search = folder.search
        search.systemDirectory = systemFolder.path
        search.systemOwner = geteuid()
        let active = ActiveProfiles(try search.run())
        try systemFolder.text("nonsense", to: "policy.yaml")
        guard case .stay(let broken) = active.verdict(on: search.runAgain()) else { return #expect(Bool(false)) }
        #expect(broken.map { $0.error?.code } == [.policyUnusable])
        try systemFolder.text("-----BEGIN CERTIFICATE-----", to: "anchor.pem")
        try systemFolder.text("RequireSignedProfiles: true\nProfileAnchors: [\(systemFolder.path)/anchor.pem]\n", to: "policy.yaml")
        #expect(active.verdict(on: search.runAgain()) == .replace(removedRealms: ["A.TEST", "B.TEST"]))
    }

    @Test func `a missing file removes its realm, but may be in the middle of a replacement`() throws {
        let folder = try Self.folder()
        var active = ActiveProfiles(try folder.search.run())
        try folder.remove("a.yaml")
        let found = folder.search.runAgain()
        #expect(active.verdict(on: found) == .replace(removedRealms: ["A.TEST"]) && active.mayPass(found))
        active.replace(with: found)
        #expect(active.verdict(on: found) == .unchanged)
    }

    @Test func `a realm that another file configures is not removed`() throws {
        let folder = try Self.folder()
        try folder.write("c.yaml", realm: "A.TEST", hosts: ".c.test")
        let active = ActiveProfiles(try folder.search.run())
        try folder.remove("a.yaml")
        #expect(active.verdict(on: folder.search.runAgain()) == .replace(removedRealms: []))
    }

    /// Each file is handled separately: an unusable one keeps its active profile, and the others are read again.
    @Test(arguments: ["broken", "repeated", "changed", "untrusted"])
    func `an active profile stays as it was if its file becomes unusable`(_ fault: String) throws {
        let folder = try Self.folder()
        let active = ActiveProfiles(try folder.search.run())
        try folder.remove("b.yaml")
        try folder.write("d.yaml", realm: "D.TEST", hosts: ".d.test")
        var broken = "\(folder.path)/a.yaml"
        switch fault {
        case "broken": try folder.text("Hosts: [", to: "a.yaml")
        // A file that precedes an active profile cannot take over its host.
        case "repeated":
            try folder.write("0.yaml", realm: "C.TEST", hosts: ".a.test")
            broken = "\(folder.path)/0.yaml"
        case "changed":
            try folder.write("a.yaml", realm: "A.TEST", hosts: ".d.test")
            try folder.write("0.yaml", realm: "D.TEST", hosts: ".d.test")
            try folder.remove("d.yaml")
        default:
            try folder.chmod(0o777)
            broken = folder.path
        }
        let found = folder.search.runAgain(keeping: active.profiles)
        #expect(found.warnings.filter { $0.code == .rejected }.map(\.source) == [broken], "\(found.warnings)")
        #expect(found.profiles.first { $0.source.hasSuffix("a.yaml") } == active.profiles[0] && active.mayPass(found))
        if fault == "untrusted" {
            #expect(active.verdict(on: found) == .unchanged && found.profiles == active.profiles)
        } else {
            #expect(active.verdict(on: found) == .replace(removedRealms: ["B.TEST"]))
            #expect(found.configurations.map(\.realm).sorted() == ["A.TEST", "D.TEST"])
            #expect(found.kept.map(\.source) == (fault == "repeated" ? [] : [broken]))
        }
    }

    /// A new policy that requires signatures applies even if a file is broken: profiles that were read without one are removed.
    @Test func `a broken file does not prevent a new policy from taking effect`() throws {
        let folder = try Self.folder()
        let systemFolder = try Folder()
        try systemFolder.chmod(0o755)
        var search = folder.search
        search.systemDirectory = systemFolder.path
        search.systemOwner = geteuid()
        let active = ActiveProfiles(try search.run())
        try folder.text("Hosts: [", to: "a.yaml")
        try systemFolder.text("-----BEGIN CERTIFICATE-----", to: "anchor.pem")
        try systemFolder.text("RequireSignedProfiles: true\nProfileAnchors: [\(systemFolder.path)/anchor.pem]\n", to: "policy.yaml")
        let found = search.runAgain(keeping: active.profiles)
        #expect(found.warnings.map { $0.error?.code } == [.unsigned, .unsigned])
        #expect(active.verdict(on: found) == .replace(removedRealms: ["A.TEST", "B.TEST"]))
    }

    @Test func `a new file that is broken is ignored and reported once`() throws {
        let folder = try Self.folder()
        var active = ActiveProfiles(try folder.search.run())
        try folder.text("Hosts: [", to: "c.yaml")
        try folder.write("d.yaml", realm: "D.TEST", hosts: ".d.test")
        let found = folder.search.runAgain()
        #expect(active.verdict(on: found) == .replace(removedRealms: []) && active.mayPass(found))
        #expect(active.news(in: found).warnings.map(\.source) == ["\(folder.path)/c.yaml"])
        #expect(active.news(in: found).warnings.isEmpty)
        try FileManager.default.removeItem(atPath: "\(folder.path)/c.yaml")
        let later = active.news(in: folder.search.runAgain())
        #expect(later.warnings.isEmpty && later.settled.map(\.source) == ["\(folder.path)/c.yaml"])
    }

    @Test func `a missing explicit file does not make the agent read the folders`() throws {
        let folder = try Self.folder()
        var search = folder.search
        search.explicitPaths = ["\(folder.path)/a.yaml"]
        let active = ActiveProfiles(try search.run())
        try folder.remove("a.yaml")
        #expect(throws: ProfileError.self) { try search.run() }
        let found = search.runAgain()
        #expect(found.profiles.isEmpty && active.verdict(on: found) == .replace(removedRealms: ["A.TEST"]))
    }

    /// The path was given for the file's content at that time; another user may have replaced the content since.
    @Test(arguments: [0o666, 0o620])
    func `an explicit file that other users can write is not read again`(mode: Int) throws {
        let folder = try Self.folder()
        var search = folder.search
        let path = "\(folder.path)/a.yaml"
        search.explicitPaths = [path]
        let active = ActiveProfiles(try search.run())
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let found = search.runAgain(keeping: active.profiles)
        #expect(found.kept.map(\.source) == [path] && active.verdict(on: found) == .unchanged)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `an explicit file that another user owns is not read again`() throws {
        let folder = try Self.folder()
        var search = folder.search
        let path = "\(folder.path)/a.yaml"
        search.explicitPaths = [path]
        let active = ActiveProfiles(try search.run())
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        let found = search.runAgain(keeping: active.profiles)
        #expect(found.kept.map(\.source) == [path] && active.verdict(on: found) == .unchanged)
    }

    @Test func `the journal keeps the last failure`() {
        let journal = Journal { _ in }
        journal.note("first")
        journal.failure("it failed")
        for number in 0..<20 { journal.note("note \(number)") }
        #expect(journal.recent.count == Journal.limit)
        #expect(journal.recent.filter(\.isFailure).map(\.text) == ["it failed"] && journal.recent.last?.text == "note 19")
        journal.failure("again")
        #expect(journal.recent.last { $0.isFailure }?.text == "again")
    }
}
