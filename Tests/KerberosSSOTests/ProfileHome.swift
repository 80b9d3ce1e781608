import Foundation
import Kerberos
import KerberosSSO
import KerberosTesting
import TestSupport
import Testing

/// One user's home directory with profiles, inside the realm's directory. Of the system-wide files only `/etc/ksso` is read.
struct ProfileHome {
    let realm: TestRealm
    let directory: String
    var settings = SingleSignOn.Settings()

    init(_ realm: TestRealm) throws {
        self.realm = realm
        directory = "\(realm.directory)/home-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: "\(directory)/.config/ksso",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        settings.base = .files([realm.configurationPath])
        settings.defaultCacheName = "FILE:\(directory)/cache"
        settings.environment = ["HOME": directory, "USER": "bob", "KSSO_RUNTIME_DIR": "\(directory)/run"]
    }

    /// Writes a profile to the user's profile directory and returns its path.
    @discardableResult
    func write(_ name: String, _ lines: String...) throws -> String {
        let path = "\(directory)/.config/ksso/\(name)"
        try lines.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }
}

/// A profile in the format of a Mac.
func intranetProfile() throws -> Profile {
    let url = try #require(Bundle.module.url(forResource: "Fixtures/intranet", withExtension: "mobileconfig"))
    return try Profile(contentsOf: url.path)
}

extension Prompter where Self == RecordingPrompter {
    /// The password of the users of these tests.
    static var secret: RecordingPrompter { RecordingPrompter(answer: "secret") }
}

extension CredentialExtension {
    /// Answers a challenge of a host and returns the principal.
    func principal(for host: String, mayAsk: Bool = false) async throws -> String {
        let url = try #require(URL(string: "https://\(host)/"))
        let outcome = try await beginAuthorization(with: .init(url: url, isUserInterfaceEnabled: mayAsk))
        guard case .headers(let grant) = outcome else { throw AuthorizationError(.notHandled, "\(host) is not handled.") }
        return grant.principal
    }
}
