import Foundation
import KerberosTesting
import Testing

/// A default cache that another user may have placed there: with it, ksso would act as a principal of that user's choice.
@Suite(.protectedWeb)
struct ForeignCacheTests {
    enum Fault: CaseIterable {
        case othersCanWrite, isOwnedByAnotherUser, isADevice

        var reason: String {
            switch self {
            case .othersCanWrite: "other users can write to it"
            case .isOwnedByAnotherUser: "it is owned by the user with uid 65534"
            case .isADevice: "it is not a regular file"
            }
        }

        /// Only root can change the owner of a file.
        static var possible: [Fault] { geteuid() == 0 ? allCases : allCases.filter { $0 != .isOwnedByAnotherUser } }
    }

    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func apply(_ fault: Fault) throws {
        let files = FileManager.default
        let path = "\(station.directory)/cache"
        switch fault {
        case .othersCanWrite: try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        case .isOwnedByAnotherUser: try files.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path)
        case .isADevice:
            try files.removeItem(atPath: path)
            try files.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
        }
    }

    @Test(arguments: Fault.possible) func `a cache that another user may have placed there is not used`(fault: Fault) async throws {
        try await station.signIn()
        try apply(fault)
        let sentence =
            "FILE:\(station.directory)/cache: this credential cache cannot be used: \(fault.reason). "
            + "Remove the file, or set KRB5CCNAME to another cache."

        let status = try await station.ksso("status")
        #expect(status.exitStatus == 5)
        #expect(status.output == "")
        #expect(status.errors.hasPrefix("ksso: warning: \(sentence)\n"), "\(status.errors)")

        let fetch = try await station.ksso("fetch", "\(try #require(WebTrait.server).url)/hello")
        #expect(fetch.exitStatus != 0)
        #expect(!fetch.output.contains("Hello"))
        #expect(fetch.errors.hasPrefix("ksso: "))

        let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
        #expect(login == .failure(1, sentence))
        let force = try await station.ksso("login", "alice", "--force", "--password-stdin", input: "secret\n")
        #expect(force == .failure(1, sentence))
    }

    @Test func `the user's own cache is used if only the user can write to it`() async throws {
        try await station.signIn()
        for mode in [0o600, 0o400, 0o644] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(station.directory)/cache")
            #expect(try await station.ksso("status", "-q") == .done(""))
        }
    }
}
