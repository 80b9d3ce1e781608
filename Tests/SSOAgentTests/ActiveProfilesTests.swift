import ExtensionProfile
import Foundation
import HTTPNegotiate
import SSOAgentClient
import Testing

@testable import SSOAgent

/// What becomes of profiles that are read again, on real folders.
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

    /// A folder with `a.yaml` of A.TEST and `b.yaml` of B.TEST.
    private static func folder() throws -> Folder {
        let folder = try Folder()
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test")
        try folder.write("b.yaml", realm: "B.TEST", hosts: ".b.test")
        return folder
    }

    @Test func `what is the same changes nothing`() throws {
        let folder = try Self.folder()
        let inForce = ActiveProfiles(try folder.search.run())
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test")
        try folder.text("no profile", to: "notes.txt")
        #expect(inForce.verdict(on: folder.search.runAgain()) == .unchanged && !inForce.mayPass(folder.search.runAgain()))
    }

    @Test func `another host is no other realm`() throws {
        let folder = try Self.folder()
        let inForce = ActiveProfiles(try folder.search.run())
        try folder.write("a.yaml", realm: "A.TEST", hosts: ".a.test, .c.test")
        #expect(inForce.verdict(on: folder.search.runAgain()) == .replace(removedRealms: []))
        #expect(!inForce.mayPass(folder.search.runAgain()))
    }

    /// A policy that wants signatures ends what has none; one that can't be read changes nothing.
    @Test func `the policy of the machine counts`() throws {
        let folder = try Self.folder()
        let machine = try Folder()
        try machine.chmod(0o755)
        var search = folder.search
        search.systemDirectory = machine.path
        search.systemOwner = geteuid()
        let inForce = ActiveProfiles(try search.run())
        try machine.text("nonsense", to: "policy.yaml")
        guard case .stay(let broken) = inForce.verdict(on: search.runAgain()) else { return #expect(Bool(false)) }
        #expect(broken.map { $0.error?.code } == [.policyUnusable])
        try machine.text("-----BEGIN CERTIFICATE-----", to: "anchor.pem")
        try machine.text("RequireSignedProfiles: true\nProfileAnchors: [\(machine.path)/anchor.pem]\n", to: "policy.yaml")
        #expect(inForce.verdict(on: search.runAgain()) == .replace(removedRealms: ["A.TEST", "B.TEST"]))
    }

    @Test func `a file that is gone may be one that is replaced`() throws {
        let folder = try Self.folder()
        var inForce = ActiveProfiles(try folder.search.run())
        try folder.remove("a.yaml")
        let found = folder.search.runAgain()
        #expect(inForce.verdict(on: found) == .replace(removedRealms: ["A.TEST"]) && inForce.mayPass(found))
        inForce.replace(with: found)
        #expect(inForce.verdict(on: found) == .unchanged)
    }

    @Test func `a realm that another file names stays`() throws {
        let folder = try Self.folder()
        try folder.write("c.yaml", realm: "A.TEST", hosts: ".c.test")
        let inForce = ActiveProfiles(try folder.search.run())
        try folder.remove("a.yaml")
        #expect(inForce.verdict(on: folder.search.runAgain()) == .replace(removedRealms: []))
    }

    /// Each file counts by itself: the broken one stays as it was, and the others are as they are found.
    @Test(arguments: ["broken", "repeated", "changed", "untrusted"])
    func `what is in force and cannot be used stays as it was`(_ fault: String) throws {
        let folder = try Self.folder()
        let inForce = ActiveProfiles(try folder.search.run())
        try folder.remove("b.yaml")
        try folder.write("d.yaml", realm: "D.TEST", hosts: ".d.test")
        var broken = "\(folder.path)/a.yaml"
        switch fault {
        case "broken": try folder.text("Hosts: [", to: "a.yaml")
        // Who comes first takes no host of one that is in force.
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
        let found = folder.search.runAgain(keeping: inForce.profiles)
        #expect(found.warnings.filter { $0.code == .rejected }.map(\.source) == [broken], "\(found.warnings)")
        #expect(found.profiles.first { $0.source.hasSuffix("a.yaml") } == inForce.profiles[0] && inForce.mayPass(found))
        if fault == "untrusted" {
            #expect(inForce.verdict(on: found) == .unchanged && found.profiles == inForce.profiles)
        } else {
            #expect(inForce.verdict(on: found) == .replace(removedRealms: ["B.TEST"]))
            #expect(found.configurations.map(\.realm).sorted() == ["A.TEST", "D.TEST"])
            #expect(found.kept.map(\.source) == (fault == "repeated" ? [] : [broken]))
        }
    }

    /// A policy that wants signatures now is no less obeyed because a file is broken: what was read without one goes.
    @Test func `a broken file does not hold up the policy`() throws {
        let folder = try Self.folder()
        let machine = try Folder()
        try machine.chmod(0o755)
        var search = folder.search
        search.systemDirectory = machine.path
        search.systemOwner = geteuid()
        let inForce = ActiveProfiles(try search.run())
        try folder.text("Hosts: [", to: "a.yaml")
        try machine.text("-----BEGIN CERTIFICATE-----", to: "anchor.pem")
        try machine.text("RequireSignedProfiles: true\nProfileAnchors: [\(machine.path)/anchor.pem]\n", to: "policy.yaml")
        let found = search.runAgain(keeping: inForce.profiles)
        #expect(found.warnings.map { $0.error?.code } == [.unsigned, .unsigned])
        #expect(inForce.verdict(on: found) == .replace(removedRealms: ["A.TEST", "B.TEST"]))
    }

    @Test func `a new file that is broken is left out and told once`() throws {
        let folder = try Self.folder()
        var inForce = ActiveProfiles(try folder.search.run())
        try folder.text("Hosts: [", to: "c.yaml")
        try folder.write("d.yaml", realm: "D.TEST", hosts: ".d.test")
        let found = folder.search.runAgain()
        #expect(inForce.verdict(on: found) == .replace(removedRealms: []) && inForce.mayPass(found))
        #expect(inForce.news(in: found).warnings.map(\.source) == ["\(folder.path)/c.yaml"])
        #expect(inForce.news(in: found).warnings.isEmpty)
        try FileManager.default.removeItem(atPath: "\(folder.path)/c.yaml")
        let mended = inForce.news(in: folder.search.runAgain())
        #expect(mended.warnings.isEmpty && mended.settled.map(\.source) == ["\(folder.path)/c.yaml"])
    }

    @Test func `a named file that is gone leaves the folders alone`() throws {
        let folder = try Self.folder()
        var search = folder.search
        search.explicitPaths = ["\(folder.path)/a.yaml"]
        let inForce = ActiveProfiles(try search.run())
        try folder.remove("a.yaml")
        #expect(throws: ProfileError.self) { try search.run() }
        let found = search.runAgain()
        #expect(found.profiles.isEmpty && inForce.verdict(on: found) == .replace(removedRealms: ["A.TEST"]))
    }

    /// Whoever named it chose what stood there then; another user may have put another file in its place.
    @Test(arguments: [0o666, 0o620])
    func `a named file that others can write is not read again`(mode: Int) throws {
        let folder = try Self.folder()
        var search = folder.search
        let path = "\(folder.path)/a.yaml"
        search.explicitPaths = [path]
        let inForce = ActiveProfiles(try search.run())
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let found = search.runAgain(keeping: inForce.profiles)
        #expect(found.kept.map(\.source) == [path] && inForce.verdict(on: found) == .unchanged)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a named file of somebody else is not read again`() throws {
        let folder = try Self.folder()
        var search = folder.search
        let path = "\(folder.path)/a.yaml"
        search.explicitPaths = [path]
        let inForce = ActiveProfiles(try search.run())
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        let found = search.runAgain(keeping: inForce.profiles)
        #expect(found.kept.map(\.source) == [path] && inForce.verdict(on: found) == .unchanged)
    }

    @Test func `the last failure stays in the journal`() {
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
