package import Kerberos
package import SignOnPolicy

/// The `KerberosError` that the closure throws; nil if it throws none or another error.
package func kerberosError<Value>(_ body: () async throws -> Value) async -> KerberosError? { await thrownError(body) as? KerberosError }

/// The `AuthorizationError` that the closure throws; nil if it throws none or another error.
package func authorizationError<Value>(_ body: () async throws -> Value) async -> AuthorizationError? {
    await thrownError(body) as? AuthorizationError
}

private func thrownError<Value>(_ body: () async throws -> Value) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
