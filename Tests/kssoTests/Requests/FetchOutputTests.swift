import Foundation
import KerberosTesting
import Testing

/// `ksso fetch -o` writes into an existing file and does not replace it, as a shell's redirection does.
@Suite(.protectedWeb)
struct FetchOutputTests {
    let station: Workstation
    let page: String

    init() throws {
        station = try Workstation()
        page = "\(try #require(WebTrait.server).url)/hello"
        try station.install(profile())
    }

    private func fetch(into path: String) async throws {
        try await station.signIn()
        #expect(try await station.ksso("fetch", page, "-o", path) == .done(""))
    }

    private func attributes(_ path: String) throws -> [FileAttributeKey: Any] {
        try FileManager.default.attributesOfItem(atPath: path)
    }

    @Test func `a symbolic link stays a link, and its target receives the page`() async throws {
        let target = try station.write("a text that is longer than the page will be\n", to: "target")
        let link = "\(station.directory)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target")
        try await fetch(into: link)
        #expect(try attributes(link)[.type] as? FileAttributeType == .typeSymbolicLink)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "Hello alice@EXAMPLE.TEST\n")
    }

    @Test(arguments: [0o600, 0o640]) func `an existing file keeps its mode and its inode`(mode: Int) async throws {
        let path = try station.write("", to: "private")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let number = try attributes(path)[.systemFileNumber] as? NSNumber
        try await fetch(into: path)
        #expect((try attributes(path)[.posixPermissions] as? NSNumber)?.intValue == mode)
        #expect(try attributes(path)[.systemFileNumber] as? NSNumber == number)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "Hello alice@EXAMPLE.TEST\n")
    }

    /// For root the test makes its own device, because a defect would replace the machine's `/dev/null`.
    @Test func `a device stays a device`() async throws {
        var path = "/dev/null"
        if geteuid() == 0 {
            path = "\(station.directory)/null"
            let made = try await station.run(["sh", "-c", "mknod '\(path)' c 1 3 && : >'\(path)'"])
            if made.exitStatus != 0 { try Test.cancel("root cannot make a device in this container") }
        }
        try await fetch(into: path)
        #expect(try attributes(path)[.type] as? FileAttributeType == .typeCharacterSpecial)
    }
}
