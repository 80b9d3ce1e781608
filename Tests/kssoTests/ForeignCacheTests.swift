import Foundation
import KerberosTesting
import Testing

/// A default cache that somebody else may have put there: who used it would act as its maker.
@Suite(.protectedWeb)
struct ForeignCacheTests {
    enum Fault: CaseIterable {
        case othersCanWrite, belongsToSomebodyElse, isADevice

        var reason: String {
            switch self {
            case .othersCanWrite: "other users can write to it"
            case .belongsToSomebodyElse: "it is owned by the user with uid 65534"
            case .isADevice: "it is not a regular file"
            }
        }

        /// Only root can give a file away.
        static var possible: [Fault] { geteuid() == 0 ? allCases : allCases.filter { $0 != .belongsToSomebodyElse } }
    }

    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func plant(_ fault: Fault) throws {
        let files = FileManager.default
        let path = "\(station.directory)/cache"
        switch fault {
        case .othersCanWrite: try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        case .belongsToSomebodyElse: try files.setAttributes([.ownerAccountID: 65534], ofItemAtPath: path)
        case .isADevice:
            try files.removeItem(atPath: path)
            try files.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
        }
    }

    @Test(arguments: Fault.possible) func `it is not used`(fault: Fault) async throws {
        try await station.signIn()
        try plant(fault)
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

    @Test func `ones own is used`() async throws {
        try await station.signIn()
        for mode in [0o600, 0o400, 0o644] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(station.directory)/cache")
            #expect(try await station.ksso("status", "-q") == .done(""))
        }
    }
}
