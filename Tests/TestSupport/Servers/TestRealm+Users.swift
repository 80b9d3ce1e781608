package import Kerberos
package import KerberosTesting
internal import Testing

internal import struct Foundation.UUID

extension TestRealm {
    /// Returns the realm of the suite's trait.
    package static func required() throws -> TestRealm { try #require(current) }

    /// Returns a unique path in the realm's folder.
    package func newPath(_ suffix: String = "") -> String { "\(directory)/\(UUID().uuidString)\(suffix)" }

    package func principal(_ text: String) throws -> Principal { try Principal(text, defaultRealm: name) }

    /// Creates a user for one test and returns the name without the realm.
    ///
    /// - Parameter flag: A flag of kadmin's add_principal, such as `+needchange`.
    package func newUser(_ flag: String? = nil, password: String = "secret") async throws -> String {
        let name = "user\(UUID().uuidString)"
        try await addUser(name, password: password, flags: flag.map { [$0] } ?? [])
        return name
    }

    /// Runs a krb5 program, as ``KerberosTesting/TestRealm/run(_:_:environment:input:)`` does, and throws a ``ProgramFailure`` if it fails.
    package func succeeded(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> CommandResult {
        let result = try await run(program, arguments, environment: environment, input: input)
        guard result.exitStatus == 0 else { throw ProgramFailure(program: program, errors: result.errors) }
        return result
    }
}

/// A krb5 program that failed.
package struct ProgramFailure: Error {
    let program: String
    let errors: String
}
