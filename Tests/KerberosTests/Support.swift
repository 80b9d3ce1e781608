import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// A user who has signed in, with the tickets in a separate cache.
struct SignedIn {
    let client: KerberosClient
    let principal: Principal
    let ticket: Credential
    let cache: CredentialCacheName

    func serviceTicket(_ service: Principal, cachedOnly: Bool = false) async throws -> Credential {
        try await client.serviceTicket(for: service, in: cache, cachedOnly: cachedOnly)
    }

    func initiator(for service: Principal) async throws -> InitiatorCredential {
        try await client.initiatorCredential(for: serviceTicket(service))
    }
}

extension TestRealm {
    var client: KerberosClient { KerberosClient(configuration) }

    func newCache() -> CredentialCacheName { CredentialCacheName(rawValue: "FILE:\(newPath(".ccache"))") }

    func signIn(
        _ name: String = "alice",
        password: String = "secret",
        client: KerberosClient? = nil,
        cache: CredentialCacheName? = nil,
        options: InitialCredentialOptions = .init()
    ) async throws -> SignedIn {
        let client = client ?? self.client
        let principal = try principal(name)
        let cache = cache ?? newCache()
        let ticket = try await client.initialCredential(for: principal, using: .password(Secret(password)), options: options)
        try await client.replace(cache, principal: principal, credentials: [ticket])
        return SignedIn(client: client, principal: principal, ticket: ticket, cache: cache)
    }

    /// Writes a krb5.conf for one test and returns its path.
    func writeConfiguration(_ text: String) throws -> String {
        let path = newPath(".conf")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

/// Expects a ``KerberosError`` with one of the codes, and returns it for further checks.
@discardableResult
func expectFailure(
    _ codes: KerberosError.Code...,
    comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async -> KerberosError? {
    let error = await #expect(throws: KerberosError.self, "\(comment)", sourceLocation: sourceLocation) { try await body() }
    if let error {
        #expect(codes.contains(error.code), "\(comment): \(error.code.rawValue): \(error)", sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    }
    return error
}
