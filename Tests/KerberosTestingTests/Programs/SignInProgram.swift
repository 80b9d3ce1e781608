import Foundation
import Kerberos
import KerberosTesting
import Testing

/// How alice signs in: with MIT's kinit, or with this package in this process.
enum SignInProgram: CaseIterable, Sendable {
    case kinit, library

    /// Signs alice in. Returns the error message; nil if alice has a ticket.
    func signIn(_ realm: TestRealm, password: String = "secret") async throws -> String? {
        switch self {
        case .kinit:
            let cache = ["KRB5CCNAME": "FILE:\(realm.directory)/\(UUID().uuidString)"]
            let result = try await realm.run("kinit", ["alice"], environment: cache, input: "\(password)\n")
            return result.exitStatus == 0 ? nil : result.errors
        case .library:
            do throws(KerberosError) {
                _ = try await initialCredential(realm, password: password)
                return nil
            } catch {
                return "\(error.code.rawValue): \(error) \(error.libraryMessage)"
            }
        }
    }

    /// Whether alice gets a ticket.
    func signsIn(_ realm: TestRealm) async throws -> Bool { try await signIn(realm) == nil }

    /// Signs alice in with this package.
    func initialCredential(
        _ realm: TestRealm,
        password: String = "secret",
        options: InitialCredentialOptions = .init()
    ) async throws(KerberosError) -> Credential {
        let principal = try Principal("alice", defaultRealm: realm.name)
        return try await KerberosClient(realm.configuration).initialCredential(
            for: principal,
            using: .password(Secret(password)),
            options: options
        )
    }
}
