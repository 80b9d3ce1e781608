import Foundation
import KerberosTesting
import Testing

/// Sets `TestRealm.current` of a suite to the domain that the folder in `INTEROP_AD` describes, or else to a new one.
struct ActiveDirectoryTrait: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        guard let folder = Self.folder else {
            let options = TestDomainOptions(users: [.init("alice", password: Self.ownPassword)], services: ["HTTP/localhost"])
            return try await withTestDomain(options) { _ in try await function() }
        }
        let configuration = "\(folder)/krb5.conf"
        let text = try String(contentsOfFile: configuration, encoding: .utf8)
        let name = try #require(text.firstMatch(of: /default_realm\s*=\s*(\S+)/)?.1, "\(configuration) sets no default_realm")
        let domain = ExistingRealm(String(name), configurationPath: configuration, keytabPath: "\(folder)/http.keytab")
        try await withExistingRealm(domain) { _ in try await function() }
    }

    /// Why there is no domain; nil if there is one.
    static var obstacle: String? { folder == nil ? TestDomain.obstacle : nil }

    /// The folder with krb5.conf, http.keytab and the file with alice's password.
    private static var folder: String? {
        let folder = ProcessInfo.processInfo.environment["INTEROP_AD"] ?? ""
        return folder.isEmpty ? nil : folder
    }

    private static let ownPassword = "Secret-1x"

    /// Alice's password: the first line of the file.
    static func password() throws -> String {
        guard let folder else { return ownPassword }
        let text = try String(contentsOfFile: "\(folder)/password", encoding: .utf8)
        return String(text.prefix { !$0.isNewline })
    }
}

extension Trait where Self == ActiveDirectoryTrait {
    /// The Active Directory domain of `INTEROP_AD`, or else a new one.
    static var activeDirectory: ActiveDirectoryTrait { ActiveDirectoryTrait() }
}
